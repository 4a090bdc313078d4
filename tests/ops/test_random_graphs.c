/* SPDX-License-Identifier: Apache-2.0
 * test_random_graphs.c: a few graphs of random nodes around every op, so that new ops are covered
 * immediately: none crashes or reports an internal error, and nearly every op succeeds sometimes.
 * `make fuzz` runs many more.
 *
 * TEST_CALLS sets the number of graphs per op, TEST_OP selects one op. */
#include "api/helpers.h"

#include "schema/schema.h"
#include "support/random_graph.h"

/* Ops that random graphs do not run with success: they need a feed, the contents of files, encoded
 * data, pooling ratios, row splits, indices of a slice, two nodes that use one resource (staging
 * areas), or a function of Python. Keep the list short. */
static const char *const may_fail[] = {
    "AccumulatorTakeGradient",
    "ConsumeMutexLock",
    "DatasetBind",
    "DatasetConstant",
    "DatasetIterator",
    "DatasetOneShotIterator",
    "DatasetSize",
    "DatasetToSingleElement",
    "DecodeAndCropJpeg",
    "DecodeBmp",
    "DecodeImage",
    "DecodeJpeg",
    "DecodePng",
    "DeleteSessionTensor",
    "DeserializeIterator",
    "ExtractJpegShape",
    "Fingerprint",
    "FractionalAvgPool",
    "FractionalAvgPoolGrad",
    "FractionalMaxPool",
    "FractionalMaxPoolGrad",
    "GetSessionTensor",
    "InitializeTableFromTextFileV2",
    "InitializeTableV2",
    "IteratorFromStringHandleV2",
    "IteratorGetNext",
    "LookupTableFindV2",
    "LookupTableImportV2",
    "LookupTableInsertV2",
    "LookupTableRemoveV2",
    "LookupTableSizeV2",
    "MakeIterator",
    "MapPeek",
    "MapUnstage",
    "MapUnstageNoKey",
    "OneShotIterator",
    "OrderedMapPeek",
    "OrderedMapUnstage",
    "OrderedMapUnstageNoKey",
    "ParseExampleV2",
    "Placeholder",
    "PyFunc",
    "PyFuncStateless",
    "QueueDequeueManyV2",
    "QueueDequeueUpToV2",
    "QueueDequeueV2",
    "ReadFile",
    "ReaderReadUpToV2",
    "ReaderReadV2",
    "ResourceAccumulatorTakeGradient",
    "RestoreV2",
    "SaveV2",
    "SerializeIterator",
    "SparseAccumulatorApplyGradient",
    "SparseAccumulatorTakeGradient",
    "SparseSliceGrad",
    "StackCloseV2",
    "StackPopV2",
    "StackPushV2",
    "StagePeek",
    "TapePack",
    "UnbatchGrad",
    "UnicodeEncode",
    "Unstage",
    "VarHandleOp",
    "VariableV2",
    "WhileGrad",
};

enum { GRAPHS = 4, MOST_GRAPHS = 1000 }; /* per op; more until one succeeds */

static bool is_listed(const char *op) {
  for (size_t i = 0; i < COUNT_OF(may_fail); i++)
    if (!strcmp(may_fail[i], op)) return true;
  return false;
}

static int n_internal_errors;

static bool run_once(int id, struct random_bytes *bytes, int *built) {
  const struct random_graph_result result = random_graph(id, bytes);
  if (result.worst)
    print_error("%s: %s\n", schema_get(id)->op->name, situ_status_message(result.worst));
  n_internal_errors += result.worst != NULL;
  situ_status_release(result.worst);
  *built += result.is_built;
  return result.has_run;
}

/* Returns how many graphs ran the node of the op. */
static int run_op(int id, int *built) {
  struct random_bytes bytes = {.state = 1};
  const char *op = schema_get(id)->op->name, *calls = getenv("TEST_CALLS");
  const int graphs = calls ? atoi(calls) : GRAPHS;
  int succeeded = 0;
  for (const char *c = op; *c; c++) bytes.state = bytes.state * 31 + (unsigned char)*c;
  for (int i = 0; i < graphs || (i < MOST_GRAPHS && !succeeded && !is_listed(op)); i++)
    succeeded += run_once(id, &bytes, built);
  return succeeded;
}

static void every_op_runs_in_graphs(void **state) {
  (void)state;
  const char *only = getenv("TEST_OP");
  int built = 0, succeeded = 0, ops = 0, never = 0, unexpected = 0;
  random_graph_start();
  for (int id = 0; id < schema_count(); id++) {
    const char *op = schema_get(id)->op->name;
    if ((only && strcmp(only, op)) || random_graph_leaves_out(id)) continue;
    if (getenv("SITU_TEST_VERBOSE")) print_error("op %s\n", op);
    const int runs = run_op(id, &built);
    ops++;
    succeeded += runs;
    if (runs) continue;
    never++;
    unexpected += !is_listed(op);
    print_message("%s never succeeds%s\n", op, is_listed(op) ? "" : ", but should");
  }
  print_message("%d ops, %d without success; %d graphs built, %d succeeded\n", ops, never, built,
                succeeded);
  assert_int_equal(n_internal_errors, 0);
  assert_int_equal(unexpected, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(every_op_runs_in_graphs)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
