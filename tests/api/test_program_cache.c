/* SPDX-License-Identifier: Apache-2.0
 * test_program_cache.c: keys, lookup, eviction and statistics of the cache of compiled programs. */
#include "api/program_cache.h"

#include "api/helpers.h"
#include "api/session.h"

struct item {
  struct cached_program cached;
  int number;
};

static int n_destroyed, last_destroyed;
static struct cached_program *last; /* the recent program where the test does not look at it */

static void destroy(struct cached_program *cached) {
  n_destroyed++;
  last_destroyed = ((struct item *)cached)->number;
  free(cached);
}

static struct program_cache empty_cache(int capacity) {
  n_destroyed = 0;
  last = NULL;
  return (struct program_cache){.capacity = capacity, .destroy = destroy};
}

static void set_key(struct program_key *key, int number) {
  program_key_init(key);
  program_key_append(key, &number, sizeof number);
}

static struct item *add(struct program_cache *cache, int number, struct cached_program **recent) {
  struct item *item = calloc(1, sizeof *item);
  struct program_key key;
  assert_non_null(item);
  item->number = number;
  set_key(&key, number);
  OK(program_cache_add(cache, &key, recent, &item->cached));
  return item;
}

static struct item *find(struct program_cache *cache, int number, struct cached_program **recent) {
  struct program_key key;
  set_key(&key, number);
  return (struct item *)program_cache_find(cache, &key, recent, NULL);
}

static void finds_what_was_added(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(64);
  assert_null(find(&cache, 1, &last));
  for (int i = 0; i < 64; i++) add(&cache, i, &last);
  for (int i = 0; i < 64; i++) assert_int_equal(find(&cache, i, &last)->number, i);
  assert_null(find(&cache, 64, &last));
  assert_int_equal(cache.stats.hits, 64);
  assert_int_equal(cache.stats.misses, 2);
  assert_int_equal(cache.stats.evictions, 0);
  program_cache_clear(&cache);
  assert_int_equal(n_destroyed, 64);
  assert_int_equal(cache.count, 0);
  assert_null(find(&cache, 1, &last));
}

static void add_of_size(struct program_cache *cache, int number, uint64_t bytes) {
  struct item *item = calloc(1, sizeof *item);
  struct program_key key;
  assert_non_null(item);
  item->number = number;
  item->cached.program_bytes = bytes;
  set_key(&key, number);
  OK(program_cache_add(cache, &key, &last, &item->cached));
}

/* Programs are evicted when they exceed the budget, and twice the largest. */
static void has_a_byte_budget(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(64);
  cache.program_budget = 10000;
  for (int i = 0; i < 50; i++) add_of_size(&cache, i, 996); /* and a key of 4 bytes */
  assert_int_equal(cache.count, 10);
  assert_int_equal(cache.program_bytes, 10000);
  assert_null(find(&cache, 39, &last));
  assert_non_null(find(&cache, 40, &last));
  for (int i = 100; i < 103; i++) add_of_size(&cache, i, 49996);
  assert_int_equal(cache.count, 2); /* however large they are */
  assert_int_equal(cache.program_bytes, 100000);
  program_cache_clear(&cache);
  assert_int_equal(cache.program_bytes, 0);
}

static void evicts_the_least_recently_used(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(4);
  for (int i = 0; i < 4; i++) add(&cache, i, &last);
  assert_non_null(find(&cache, 0, &last));
  add(&cache, 4, &last);
  assert_int_equal(last_destroyed, 1);
  assert_non_null(find(&cache, 2, &last));
  add(&cache, 5, &last);
  assert_int_equal(last_destroyed, 3);
  assert_int_equal(cache.count, 4);
  assert_int_equal(cache.stats.evictions, 2);
  assert_null(find(&cache, 1, &last));
  assert_int_equal(find(&cache, 0, &last)->number, 0);
  program_cache_clear(&cache);
}

static void keeps_programs_in_use(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(2);
  struct item *first = add(&cache, 0, &last), *second = add(&cache, 1, &last);
  assert_null(program_cache_begin_run(&cache, &first->cached));
  add(&cache, 2, &last);
  assert_int_equal(last_destroyed, 1);
  second = find(&cache, 2, &last);
  assert_null(program_cache_begin_run(&cache, &second->cached));
  add(&cache, 3, &last); /* all are in use */
  assert_int_equal(cache.count, 3);
  program_cache_clear(&cache);
  assert_int_equal(cache.count, 2);
  program_cache_end_run(&cache, &first->cached, NULL);
  program_cache_end_run(&cache, &second->cached, NULL);
  program_cache_clear(&cache);
  assert_int_equal(cache.count, 0);
}

static int last_shrunk;

static void note_shrunk(struct cached_program *cached) {
  last_shrunk = ((struct item *)cached)->number;
}

/* Ends a run of a program that then holds some memory. */
static void run(struct program_cache *cache, struct item *item, uint64_t mebibytes) {
  item->cached.last_run = ++cache->runs;
  program_cache_set_idle(cache, &item->cached, mebibytes << 20);
}

static void frees_memory_of_programs_that_ran_least_recently(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(8);
  cache.shrink = note_shrunk;
  struct item *items[4];
  for (int i = 0; i < 4; i++) items[i] = add(&cache, i, &last);
  last_shrunk = -1;
  run(&cache, items[0], 100);
  run(&cache, items[1], 100);
  run(&cache, items[0], 100);
  assert_int_equal(last_shrunk, -1); /* two of the largest */
  run(&cache, items[2], 10);
  assert_int_equal(last_shrunk, 1);
  assert_int_equal(cache.idle_bytes, 110 << 20);
  assert_int_equal(cache.count, 4);
  assert_null(program_cache_begin_run(&cache, &items[3]->cached)); /* needs a new frame */
  assert_int_equal(last_shrunk, 0);
  assert_int_equal(cache.idle_bytes, 10 << 20);
  program_cache_end_run(&cache, &items[3]->cached, NULL);
  program_cache_clear(&cache);
  assert_int_equal(cache.idle_bytes, 0);
}

static void memory_of_running_programs_stays(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(8);
  cache.shrink = note_shrunk;
  struct item *first = add(&cache, 0, &last), *second = add(&cache, 1, &last);
  last_shrunk = -1;
  run(&cache, first, 60);
  first->cached.active = 1;
  run(&cache, second, 61);
  program_cache_shrink(&cache, 0);
  assert_int_equal(last_shrunk, 1);
  assert_int_equal(cache.idle_bytes, 60 << 20);
  first->cached.active = 0;
  program_cache_clear(&cache);
}

static void forgets_programs_in_use(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(2);
  struct cached_program *recent = NULL;
  struct item *first = add(&cache, 0, &recent);
  add(&cache, 1, &last);
  program_cache_begin_run(&cache, &first->cached);
  program_cache_forget(&cache);
  assert_null(recent);
  assert_null(find(&cache, 0, &recent));
  assert_non_null(find(&cache, 1, &recent));
  free(first->cached.key);
  free(first);
  program_cache_clear(&cache);
}

static void recent_program_is_tried_first(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(2);
  struct cached_program *recent = NULL;
  add(&cache, 0, &recent);
  add(&cache, 1, &recent);
  assert_int_equal(((struct item *)recent)->number, 1);
  assert_int_equal(find(&cache, 0, &recent)->number, 0);
  assert_int_equal(((struct item *)recent)->number, 0);
  add(&cache, 2, &last); /* evicts 1 */
  add(&cache, 3, &last); /* evicts 0 */
  assert_null(recent);
  assert_null(find(&cache, 0, &recent));
  program_cache_clear(&cache);
}

static bool is_number(const struct cached_program *cached, const void *context) {
  return ((const struct item *)cached)->number == *(const int *)context;
}

static void owner_decides_among_equal_keys(void **state) {
  (void)state;
  struct program_cache cache = empty_cache(4);
  struct cached_program *recent = NULL;
  struct program_key key;
  cache.accepts = is_number;
  add(&cache, 7, &recent);
  add(&cache, 7, &recent)->number = 8;
  set_key(&key, 7);
  for (int want = 7; want < 10; want++) {
    const struct item *found = (struct item *)program_cache_find(&cache, &key, &recent, &want);
    assert_int_equal(found ? found->number : 9, want);
  }
  program_cache_clear(&cache);
}

static void long_keys_grow(void **state) {
  (void)state;
  struct program_key key;
  program_key_init(&key);
  for (int i = 0; i < 1000; i++) program_key_append(&key, &i, sizeof i);
  assert_int_equal(key.length, 1000 * sizeof(int));
  assert_false(key.failed);
  for (int i = 0; i < 1000; i++)
    assert_memory_equal(key.bytes + sizeof i * (size_t)i, &i, sizeof i);
  program_key_free(&key);
}

static bool same_key(situ_attr a, situ_attr b) {
  struct program_key first, second;
  program_key_init(&first);
  program_key_init(&second);
  program_key_append_attr(&first, &a);
  program_key_append_attr(&second, &b);
  return first.length == second.length && !memcmp(first.bytes, second.bytes, first.length);
}

static void keys_tell_attributes_apart(void **state) {
  (void)state;
  const int64_t list[] = {1, 2, 3};
  situ_tensor *one = floats(SITU_SHAPE(2), (float[]){1, 2});
  situ_tensor *equal = floats(SITU_SHAPE(2), (float[]){1, 2});
  situ_tensor *other = floats(SITU_SHAPE(2), (float[]){1, 3});
  assert_true(same_key(situ_attr_int("a", 1), situ_attr_int("a", 1)));
  assert_false(same_key(situ_attr_int("a", 1), situ_attr_int("a", 2)));
  assert_false(same_key(situ_attr_int("a", 1), situ_attr_int("b", 1)));
  assert_false(same_key(situ_attr_int("a", 1), situ_attr_bool("a", true)));
  assert_false(same_key(situ_attr_float("a", 1), situ_attr_float("a", 2)));
  assert_false(same_key(situ_attr_string("a", "x"), situ_attr_string("a", "")));
  assert_false(same_key(situ_attr_ints("a", list, 2), situ_attr_ints("a", list, 3)));
  assert_false(same_key(situ_attr_shape("a", SITU_SHAPE(2)), situ_attr_shape("a", SITU_SCALAR)));
  assert_true(same_key(situ_attr_tensor("a", one), situ_attr_tensor("a", equal)));
  assert_false(same_key(situ_attr_tensor("a", one), situ_attr_tensor("a", other)));
  situ_tensor_release(one);
  situ_tensor_release(equal);
  situ_tensor_release(other);
}

static void sessions_compile_each_shape_once(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x =
      situ_placeholder(graph, "x", SITU_FLOAT, (situ_shape){.rank = 1, .dim = {SITU_ANY}});
  const situ_value y = emit2(graph, "Add", x, scalar(graph, 1));
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  for (int round = 0; round < 2; round++)
    for (int n = 1; n <= 300; n++) {
      float data[300] = {0};
      situ_feed feed = {.value = x, .tensor = floats(SITU_SHAPE(n), data)};
      for (int run = 0; run < 2; run++) {
        situ_tensor *result = NULL;
        OK(situ_session_run(session, &feed, 1, &y, 1, &result));
        situ_tensor_release(result);
      }
      situ_tensor_release(feed.tensor);
    }
  assert_int_equal(session->programs.count, MAX_PROGRAMS);
  assert_int_equal(session->programs.stats.misses, 600);
  assert_int_equal(session->programs.stats.hits, 600);
  assert_int_equal(session->programs.stats.evictions, 600 - MAX_PROGRAMS);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Compiled programs stay, the memory that they hold does not. */
static void sessions_bound_the_memory_of_many_shapes(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_value x =
      situ_placeholder(graph, "x", SITU_FLOAT, (situ_shape){.rank = 1, .dim = {SITU_ANY}});
  const situ_value y = emit1(graph, "Relu", x);
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  for (int i = 0; i < 40; i++) {
    situ_feed feed = {.value = x, .tensor = floats(SITU_SHAPE((1 << 18) + i), NULL)};
    situ_tensor *result = NULL;
    OK(situ_session_run(session, &feed, 1, &y, 1, &result));
    situ_tensor_release(result);
    situ_tensor_release(feed.tensor);
    assert_true(session->programs.idle_bytes <= MIN_IDLE_BYTES);
  }
  assert_true(session->programs.idle_bytes > 0);
  assert_int_equal(session->programs.count, 40);
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_was_added),
      cmocka_unit_test(evicts_the_least_recently_used),
      cmocka_unit_test(has_a_byte_budget),
      cmocka_unit_test(keeps_programs_in_use),
      cmocka_unit_test(frees_memory_of_programs_that_ran_least_recently),
      cmocka_unit_test(memory_of_running_programs_stays),
      cmocka_unit_test(forgets_programs_in_use),
      cmocka_unit_test(recent_program_is_tried_first),
      cmocka_unit_test(owner_decides_among_equal_keys),
      cmocka_unit_test(long_keys_grow),
      cmocka_unit_test(keys_tell_attributes_apart),
      cmocka_unit_test(sessions_compile_each_shape_once),
      cmocka_unit_test(sessions_bound_the_memory_of_many_shapes)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
