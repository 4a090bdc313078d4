/* SPDX-License-Identifier: Apache-2.0
 * cifar10.c: trains the network of the CIFAR-10 tutorial on several GPUs, from C.
 *
 *   build/examples/cifar10 --gpus 2 --steps 50
 *
 * Every GPU has a tower: the network on its share of the batch. The variables are on the CPU and
 * shared; there the gradients of the towers are averaged and applied, and the moving averages are
 * kept with which the network is tested in the end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <situ/situ.h>

#include "data.h"

enum {
  VARIABLES = 10,
  KEPT = 2 * VARIABLES + 1,
  MOST_GPUS = 16,
  LINES = 10,
  SAVES = 100,
  TEST_BATCH = 250
};

struct options {
  int gpus, steps, batch;
  double rate, decay_steps;
  const char *folder, *checkpoint; /* checkpoint: NULL, nothing is kept */
};

/* The variables in the order of the layers: weights, biases, weights, ... */
static const struct layer {
  const char *name;
  situ_shape shape;
  float deviation, value; /* of random numbers to begin with, or the value of all elements */
  float decay;
} layers[VARIABLES] = {
    {"conv1/weights", {4, {5, 5, 3, 64}}, 0.05f, 0, 0},
    {"conv1/biases", {1, {64}}, 0, 0, 0},
    {"conv2/weights", {4, {5, 5, 64, 64}}, 0.05f, 0, 0},
    {"conv2/biases", {1, {64}}, 0, 0.1f, 0},
    {"local3/weights", {2, {2304, 384}}, 0.04f, 0, 0.004f},
    {"local3/biases", {1, {384}}, 0, 0.1f, 0},
    {"local4/weights", {2, {384, 192}}, 0.04f, 0, 0.004f},
    {"local4/biases", {1, {192}}, 0, 0.1f, 0},
    {"softmax_linear/weights", {2, {192, CIFAR_CLASSES}}, 1.f / 192, 0, 0},
    {"softmax_linear/biases", {1, {CIFAR_CLASSES}}, 0, 0, 0},
};

/* A graph to train with, and what of it is run. */
struct training {
  situ_graph *graph;
  situ_value images, labels, rate, average_decay; /* fed */
  situ_value variables[VARIABLES], averages[VARIABLES];
  situ_value global_step; /* how many steps were made */
  situ_value begin, step, loss, right;
  situ_saver *saver;
};

static situ_value number(situ_graph *graph, float value) {
  return situ_constant(graph, NULL, SITU_FLOAT, SITU_SCALAR, &value);
}

static situ_value whole(situ_graph *graph, int64_t value) {
  return situ_constant(graph, NULL, SITU_INT64, SITU_SCALAR, &value);
}

static situ_value integers(situ_graph *graph, int count, const int32_t *values) {
  return situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(count), values);
}

/* What a variable is at first: random numbers, or the same everywhere. */
static situ_value initial(situ_graph *graph, const struct layer *layer, int seed) {
  int32_t dims[4] = {0};
  for (int i = 0; i < layer->shape.rank; i++) dims[i] = (int32_t)layer->shape.dim[i];
  const situ_value shape = integers(graph, layer->shape.rank, dims);
  if (layer->deviation == 0) return situ_fill(graph, shape, number(graph, layer->value));
  const situ_attr attrs[] = {situ_attr_type("dtype", SITU_FLOAT), situ_attr_int("seed", seed),
                             situ_attr_int("seed2", 1)};
  const situ_value normal = situ_emit(graph, "TruncatedNormal", NULL, &shape, 1, attrs, 3);
  return situ_multiply(graph, normal, number(graph, layer->deviation));
}

static situ_value variable(situ_graph *graph, const char *name, situ_type type, situ_shape shape) {
  const situ_attr attrs[] = {situ_attr_shape("shape", shape), situ_attr_type("dtype", type)};
  return situ_emit(graph, "VariableV2", name, NULL, 0, attrs, 2);
}

/* Makes the variables and their averages, which begin as they do, and the count of steps. */
static void add_variables(struct training *t) {
  situ_value assigned[KEPT];
  char name[64];
  for (int i = 0; i < VARIABLES; i++) {
    const struct layer *layer = &layers[i];
    snprintf(name, sizeof name, "%s/average", layer->name);
    t->variables[i] = variable(t->graph, layer->name, SITU_FLOAT, layer->shape);
    t->averages[i] = variable(t->graph, name, SITU_FLOAT, layer->shape);
    const situ_value value = initial(t->graph, layer, i + 1);
    assigned[2 * i] = situ_assign(t->graph, t->variables[i], value);
    assigned[2 * i + 1] = situ_assign(t->graph, t->averages[i], value);
  }
  t->global_step = variable(t->graph, "global_step", SITU_INT64, SITU_SCALAR);
  assigned[KEPT - 1] = situ_assign(t->graph, t->global_step, whole(t->graph, 0));
  situ_control_push(t->graph, assigned, KEPT);
  t->begin = situ_no_op(t->graph);
  situ_control_pop(t->graph);
}

static situ_value convolve(situ_graph *graph, situ_value x, const situ_value w[2]) {
  const int64_t strides[] = {1, 1, 1, 1};
  const situ_value sums = situ_conv2d(graph, x, w[0], strides, 4, "SAME");
  return situ_relu(graph, situ_bias_add(graph, sums, w[1]));
}

static situ_value pool(situ_graph *graph, situ_value x) {
  const int64_t size[] = {1, 3, 3, 1}, strides[] = {1, 2, 2, 1};
  return situ_max_pool(graph, x, size, 4, strides, 4, "SAME");
}

static situ_value normalize(situ_graph *graph, situ_value x) {
  const situ_attr attrs[] = {situ_attr_int("depth_radius", 4), situ_attr_float("bias", 1),
                             situ_attr_float("alpha", 0.001 / 9), situ_attr_float("beta", 0.75)};
  return situ_emit(graph, "LRN", NULL, &x, 1, attrs, 4);
}

static situ_value dense(situ_graph *graph, situ_value x, const situ_value w[2]) {
  return situ_bias_add(graph, situ_matmul(graph, x, w[0]), w[1]);
}

/* The network with these variables: images to ten numbers each. */
static situ_value logits(situ_graph *graph, situ_value images, const situ_value *w) {
  const int32_t flat[] = {-1, 6 * 6 * 64};
  situ_value x = normalize(graph, pool(graph, convolve(graph, images, w)));
  x = pool(graph, normalize(graph, convolve(graph, x, w + 2)));
  x = situ_reshape(graph, x, integers(graph, 2, flat));
  x = situ_relu(graph, dense(graph, x, w + 4));
  x = situ_relu(graph, dense(graph, x, w + 6));
  return dense(graph, x, w + 8);
}

/* The mean cross-entropy of a share, and the decay of the weights. */
static situ_value tower_loss(situ_graph *graph, situ_value images, situ_value labels,
                             const situ_value *w) {
  situ_value terms[VARIABLES + 1];
  int count = 1;
  const situ_value entropy =
      situ_sparse_softmax_cross_entropy_with_logits(graph, logits(graph, images, w), labels);
  terms[0] = situ_reduce_mean(graph, entropy, integers(graph, 1, (int32_t[]){0}));
  for (int i = 0; i < VARIABLES; i++)
    if (layers[i].decay > 0)
      terms[count++] =
          situ_multiply(graph, situ_l2_loss(graph, w[i]), number(graph, layers[i].decay));
  return situ_add_n(graph, terms, count);
}

static situ_value mean(situ_graph *graph, const situ_value *values, int count) {
  return situ_multiply(graph, situ_add_n(graph, values, count), number(graph, 1.f / (float)count));
}

/* One tower per GPU: the loss of each, and the gradients of each variable. */
static situ_status add_towers(struct training *t, int gpus, situ_value losses[MOST_GPUS],
                              situ_value gradients[VARIABLES][MOST_GPUS]) {
  const situ_value axis = situ_constant(t->graph, NULL, SITU_INT32, SITU_SCALAR, &(int32_t){0});
  const situ_value images = situ_split(t->graph, axis, t->images, gpus);
  const situ_value labels = situ_split(t->graph, axis, t->labels, gpus);
  situ_status s = NULL;
  for (int i = 0; i < gpus && !s; i++) {
    situ_value found[VARIABLES];
    char device[32];
    snprintf(device, sizeof device, "/gpu:%d", i);
    situ_device_push(t->graph, device);
    losses[i] = tower_loss(t->graph, situ_value_output(images, i), situ_value_output(labels, i),
                           t->variables);
    s = situ_gradients(t->graph, &losses[i], 1, t->variables, VARIABLES, NULL, NULL, found);
    situ_device_pop(t->graph);
    for (int v = 0; v < VARIABLES && !s; v++) gradients[v][i] = found[v];
  }
  return s;
}

/* Applies the mean of the gradients, then moves the averages towards the variables, and counts. */
static void add_step(struct training *t, int gpus, situ_value gradients[VARIABLES][MOST_GPUS]) {
  situ_value applied[VARIABLES], averaged[VARIABLES + 1];
  for (int i = 0; i < VARIABLES; i++)
    applied[i] = situ_apply_gradient_descent(t->graph, t->variables[i], t->rate,
                                             mean(t->graph, gradients[i], gpus));
  situ_control_push(t->graph, applied, VARIABLES);
  for (int i = 0; i < VARIABLES; i++)
    averaged[i] =
        situ_apply_gradient_descent(t->graph, t->averages[i], t->average_decay,
                                    situ_subtract(t->graph, t->averages[i], t->variables[i]));
  averaged[VARIABLES] = situ_assign_add(t->graph, t->global_step, whole(t->graph, 1));
  situ_control_pop(t->graph);
  situ_control_push(t->graph, averaged, VARIABLES + 1);
  t->step = situ_no_op(t->graph);
  situ_control_pop(t->graph);
}

static situ_status add_saver(struct training *t) {
  situ_value kept[KEPT];
  memcpy(kept, t->variables, sizeof t->variables);
  memcpy(kept + VARIABLES, t->averages, sizeof t->averages);
  kept[KEPT - 1] = t->global_step;
  return situ_saver_create(t->graph, kept, KEPT, &t->saver);
}

static situ_status build(const struct options *options, struct training *t) {
  situ_value losses[MOST_GPUS], gradients[VARIABLES][MOST_GPUS];
  const situ_shape shape = SITU_SHAPE(SITU_ANY, CIFAR_CROP, CIFAR_CROP, 3);
  t->graph = situ_graph_create();
  situ_device_push(t->graph, "/cpu:0");
  t->images = situ_placeholder(t->graph, "images", SITU_FLOAT, shape);
  t->labels = situ_placeholder(t->graph, "labels", SITU_INT32, SITU_SHAPE(SITU_ANY));
  t->rate = situ_placeholder(t->graph, "rate", SITU_FLOAT, SITU_SCALAR);
  t->average_decay = situ_placeholder(t->graph, "average_decay", SITU_FLOAT, SITU_SCALAR);
  add_variables(t);
  situ_status s = add_towers(t, options->gpus, losses, gradients);
  if (!s) {
    t->loss = mean(t->graph, losses, options->gpus);
    add_step(t, options->gpus, gradients);
    t->right = situ_in_top_k(t->graph, logits(t->graph, t->images, t->averages), t->labels, 1);
    s = situ_graph_status(t->graph);
  }
  if (!s) s = add_saver(t);
  situ_device_pop(t->graph);
  return s;
}

/* Runs `fetches` with a batch; its loss, or what is right, is the last result. */
static situ_status run_batch(situ_session *session, const struct training *t, int step,
                             const struct options *options, const float *images,
                             const int32_t *labels, int count, const situ_value *fetches,
                             int n_fetches, situ_tensor **last) {
  const float rate = (float)(options->rate * pow(0.1, step / options->decay_steps));
  const float moved = 1 - (1.f + (float)step) / (10.f + (float)step);
  const situ_value values[] = {t->images, t->labels, t->rate, t->average_decay};
  situ_feed feeds[4] = {{values[0], NULL}, {values[1], NULL}, {values[2], NULL}, {values[3], NULL}};
  situ_tensor *results[2] = {NULL};
  const situ_shape shape = SITU_SHAPE(count, CIFAR_CROP, CIFAR_CROP, 3);
  situ_status s = situ_tensor_wrap(SITU_FLOAT, shape, images, NULL, NULL, &feeds[0].tensor);
  if (!s) s = situ_tensor_wrap(SITU_INT32, SITU_SHAPE(count), labels, NULL, NULL, &feeds[1].tensor);
  if (!s) s = situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &rate, &feeds[2].tensor);
  if (!s) s = situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &moved, &feeds[3].tensor);
  const int n_feeds = n_fetches > 1 ? 4 : 2;
  if (!s) s = situ_session_run(session, feeds, n_feeds, fetches, n_fetches, results);
  for (int i = 0; i < 4; i++) situ_tensor_release(feeds[i].tensor);
  *last = results[n_fetches - 1];
  return s;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A view of an image at random for each place of the batch. */
static void fill_batch(const struct records *records, int step, int count, float *images,
                       int32_t *labels) {
  const uint64_t stream = (uint64_t)step + (1u << 20);
  for (int i = 0; i < count; i++) {
    const uint64_t draw = (uint64_t)i * 4;
    const int index = records_draw(stream, draw, records->count);
    const int margin = CIFAR_SIDE - CIFAR_CROP + 1;
    records_view(records, index, records_draw(stream, draw + 1, margin),
                 records_draw(stream, draw + 2, margin), records_draw(stream, draw + 3, 2),
                 images + (size_t)i * CIFAR_VIEW);
    labels[i] = records->bytes[(size_t)index * CIFAR_RECORD];
  }
}

/* Gives the variables values: those of the checkpoint, if there is one, else the first ones; and
 * tells how many steps were made. */
static situ_status begin(situ_session *session, const struct training *t, const char *checkpoint,
                         int *steps) {
  situ_tensor *made = NULL;
  situ_status s = NULL;
  bool is_new = !checkpoint;
  if (checkpoint) s = situ_saver_restore(t->saver, session, checkpoint);
  if (s && situ_status_code(s) == SITU_NOT_FOUND) {
    situ_status_release(s);
    s = NULL;
    is_new = true;
  }
  if (!s && is_new) s = situ_session_run(session, NULL, 0, &t->begin, 1, &made);
  if (!s && is_new && checkpoint) s = situ_saver_save(t->saver, session, checkpoint);
  if (!s) s = situ_session_eval(session, t->global_step, &made);
  if (!s) *steps = (int)*(const int64_t *)situ_tensor_data(made);
  if (!s && !is_new) printf("going on behind step %d of %s\n", *steps - 1, checkpoint);
  situ_tensor_release(made);
  return s;
}

static situ_status train(situ_session *session, const struct training *t,
                         const struct options *options, const struct records *records,
                         float *images, int32_t *labels) {
  const situ_value fetches[] = {t->step, t->loss};
  int first = 0;
  situ_status s = begin(session, t, options->checkpoint, &first);
  double began = now();
  for (int step = first; step < options->steps && !s; step++) {
    situ_tensor *loss = NULL;
    fill_batch(records, step, options->batch, images, labels);
    s = run_batch(session, t, step, options, images, labels, options->batch, fetches, 2, &loss);
    if (!s && (step % LINES == 0 || step + 1 == options->steps)) {
      const int last = step % LINES ? step % LINES : LINES, all = step - first + 1;
      const int since = last < all ? last : all;
      printf("step %d, loss = %.5f (%.1f examples/sec)\n", step,
             (double)*(const float *)situ_tensor_data(loss),
             (double)since * options->batch / (now() - began));
      fflush(stdout);
      began = now();
    }
    situ_tensor_release(loss);
    if (!s && options->checkpoint && ((step + 1) % SAVES == 0 || step + 1 == options->steps))
      s = situ_saver_save(t->saver, session, options->checkpoint);
  }
  return s;
}

/* How many of the middles of the test images the network knows, with the averages. */
static situ_status test(situ_session *session, const struct training *t,
                        const struct options *options, const struct records *records, float *images,
                        int32_t *labels) {
  const int middle = (CIFAR_SIDE - CIFAR_CROP) / 2;
  int right = 0;
  situ_status s = NULL;
  for (int at = 0; at < records->count && !s; at += TEST_BATCH) {
    const int left = records->count - at, count = left < TEST_BATCH ? left : TEST_BATCH;
    situ_tensor *found = NULL;
    for (int i = 0; i < count; i++) {
      records_view(records, at + i, middle, middle, false, images + (size_t)i * CIFAR_VIEW);
      labels[i] = records->bytes[(size_t)(at + i) * CIFAR_RECORD];
    }
    s = run_batch(session, t, 0, options, images, labels, count, &t->right, 1, &found);
    const bool *is_right = s ? NULL : situ_tensor_data(found);
    for (int i = 0; i < count && is_right; i++) right += is_right[i];
    situ_tensor_release(found);
  }
  if (!s) printf("accuracy = %.4f\n", (double)right / records->count);
  return s;
}

static situ_status run(const struct options *options, struct training *t, struct records sets[2]) {
  char gpus[16];
  snprintf(gpus, sizeof gpus, "%d", options->gpus);
  const bool is_told = getenv("SITU_SIM_GPUS") != NULL;
  const situ_config config = {.allow_soft_placement = true,
                              .devices.sim_gpus = is_told ? NULL : gpus};
  const size_t most = (size_t)(options->batch > TEST_BATCH ? options->batch : TEST_BATCH);
  float *images = malloc(most * CIFAR_VIEW * sizeof *images);
  int32_t *labels = malloc(most * sizeof *labels);
  situ_session *session = NULL;
  situ_status s = images && labels ? NULL : situ_status_create(SITU_RESOURCE_EXHAUSTED, "memory");
  if (!s) s = records_load(options->folder, false, &sets[0]);
  if (!s) s = records_load(options->folder, true, &sets[1]);
  if (!s) s = build(options, t);
  if (!s) s = situ_session_create(t->graph, &config, &session);
  if (!s) s = train(session, t, options, &sets[0], images, labels);
  if (!s) s = test(session, t, options, &sets[1], images, labels);
  situ_session_release(session);
  free(images);
  free(labels);
  return s;
}

/* The option that stands at `argv`, with its value behind it; whether it is one. */
static bool take(char **argv, struct options *options) {
  const char *name = argv[0], *value = argv[1];
  if (!strcmp(name, "--gpus"))
    options->gpus = atoi(value);
  else if (!strcmp(name, "--steps"))
    options->steps = atoi(value);
  else if (!strcmp(name, "--batch"))
    options->batch = atoi(value);
  else if (!strcmp(name, "--rate"))
    options->rate = atof(value);
  else if (!strcmp(name, "--decay-steps"))
    options->decay_steps = atof(value);
  else if (!strcmp(name, "--data"))
    options->folder = value;
  else if (!strcmp(name, "--checkpoint"))
    options->checkpoint = value;
  else
    return false;
  return true;
}

int main(int argc, char **argv) {
  struct options options = {1, 200, 128, 0.06, 250, "/tmp/cifar10_data", NULL};
  bool ok = argc % 2;
  for (int i = 1; i < argc && ok; i += 2) ok = take(argv + i, &options);
  ok = ok && options.gpus > 0 && options.gpus <= MOST_GPUS && options.steps > 0 &&
       options.batch > 0 && options.batch % options.gpus == 0 && options.decay_steps > 0 &&
       isfinite(options.rate);
  if (!ok) {
    fprintf(
        stderr,
        "usage: %s [--gpus N] [--steps N] [--batch N] [--rate X] [--decay-steps N] "
        "[--data FOLDER] [--checkpoint NAME]\n"
        "The GPUs (at most %d) get equal shares of the batch. The rate is a tenth after N\n"
        "steps; for the real images take --rate 0.1 --decay-steps 100000. With --checkpoint,\n"
        "what was learned is kept in files at first, every %d steps and at the end; a later run\n"
        "goes on from there.\n",
        argv[0], MOST_GPUS, SAVES);
    return 2;
  }
  struct training training = {0};
  struct records sets[2] = {{0}};
  situ_status s = run(&options, &training, sets);
  situ_saver_release(training.saver);
  situ_graph_release(training.graph);
  records_free(&sets[0]);
  records_free(&sets[1]);
  return situ_status_report(s, stderr);
}
