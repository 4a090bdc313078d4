# SPDX-License-Identifier: Apache-2.0
"""contrib_testing.py: tf.contrib.testing: a summary writer that records, and readers of event files
for tests."""

from __future__ import annotations

import glob
import os
from collections import defaultdict

import numpy

from situ._src.framework.api import export
from situ._src.summary import file_writer
from situ._src.summary.event_file import summary_iterator
from situ._src.summary.protos import Summary

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from collections.abc import Iterable

    from situ._src.framework.type_aliases import Any

_RATE_TAG = "global_step/sec"  # its number depends on the time that steps take


def _check_step(global_step):
    if global_step is not None and global_step < 0:
        raise ValueError(f"Invalid global_step {global_step}.")


@export(v1="contrib.testing.FakeSummaryWriter")
class FakeSummaryWriter:
    """Records what a FileWriter would write. `summaries` maps steps to lists of tf.Summary.

    Args:
      logdir: the directory of the writer that it replaces; nothing is written there.
      graph: the graph of that writer, or None.
    """

    _replaced: type | None = None

    def __init__(self, logdir: Any, graph: Any = None) -> None:
        self._logdir, self._graph = logdir, graph
        self.summaries: dict = defaultdict(list)
        self._added_graphs: list = []
        self._added_meta_graphs: list = []
        self._added_session_logs: list = []
        self._added_run_metadata: dict = {}

    @classmethod
    def install(cls) -> None:
        """Makes tf.summary.FileWriterCache create writers of this class.

        Raises:
          ValueError: It does already.
        """
        if FakeSummaryWriter._replaced:
            raise ValueError("FakeSummaryWriter already installed.")
        FakeSummaryWriter._replaced = file_writer.FileWriter
        file_writer.FileWriter = FakeSummaryWriter  # type: ignore[assignment, misc]

    @classmethod
    def uninstall(cls) -> None:
        """Makes tf.summary.FileWriterCache create real writers again.

        Raises:
          ValueError: It does already.
        """
        if not FakeSummaryWriter._replaced:
            raise ValueError("FakeSummaryWriter not installed.")
        file_writer.FileWriter = FakeSummaryWriter._replaced  # type: ignore[assignment, misc]
        FakeSummaryWriter._replaced = None

    def assert_summaries(
        self,
        test_case: Any,
        expected_logdir: Any = None,
        expected_graph: Any = None,
        expected_summaries: dict | None = None,
        expected_added_graphs: list | None = None,
        expected_added_meta_graphs: list | None = None,
        expected_session_logs: list | None = None,
    ) -> None:
        """Asserts what was recorded. What is None is not compared.

        Args:
          test_case: The `unittest.TestCase` whose assertions are called.
          expected_logdir: The directory.
          expected_graph: The graph of the writer.
          expected_summaries: Steps to dictionaries from tags to simple values.
          expected_added_graphs: The added graphs.
          expected_added_meta_graphs: The added MetaGraphDefs.
          expected_session_logs: The added SessionLogs.
        """
        if expected_logdir is not None:
            test_case.assertEqual(expected_logdir, self._logdir)
        if expected_graph is not None:
            test_case.assertIs(expected_graph, self._graph)
        for step, expected in (expected_summaries or {}).items():
            test_case.assertIn(step, self.summaries)
            values = (value for summary in self.summaries[step] for value in summary.value)
            actual = {v.tag: v.simple_value for v in values if v.tag != _RATE_TAG}
            test_case.assertEqual(expected, actual)
        for expected_items, items in (
            (expected_added_graphs, self._added_graphs),
            (expected_added_meta_graphs, self._added_meta_graphs),
            (expected_session_logs, self._added_session_logs),
        ):
            if expected_items is not None:
                test_case.assertEqual(expected_items, items)

    def add_summary(self, summ: Any, current_global_step: Any) -> None:
        """Records a summary.

        Args:
          summ: A tf.Summary, or one in binary form.
          current_global_step: The step.
        """
        if isinstance(summ, bytes):
            summ = to_summary_proto(summ)
        self.summaries[current_global_step].append(summ)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Records a graph.

        Args:
          graph: The graph.
          global_step: The step; it is not recorded.
          graph_def: Must be None.

        Raises:
          ValueError: The step is negative, or `graph_def` is not None.
        """
        _check_step(global_step)
        if graph_def is not None:
            raise ValueError(f"Unexpected graph_def {graph_def}.")
        self._added_graphs.append(graph)

    def add_meta_graph(self, meta_graph_def: Any, global_step: Any = None) -> None:
        """Records a MetaGraphDef.

        Args:
          meta_graph_def: The MetaGraphDef.
          global_step: The step; it is not recorded.

        Raises:
          ValueError: The step is negative.
        """
        _check_step(global_step)
        self._added_meta_graphs.append(meta_graph_def)

    def add_session_log(self, session_log: Any, global_step: Any = None) -> None:
        """Records a SessionLog.

        Args:
          session_log: The SessionLog.
          global_step: The step; it is not recorded.

        Raises:
          ValueError: The step is negative.
        """
        _check_step(global_step)
        self._added_session_logs.append(session_log)

    def add_run_metadata(self, run_metadata: Any, tag: str, global_step: Any = None) -> None:
        """Records the RunMetadata of a step.

        Args:
          run_metadata: The RunMetadata.
          tag: A unique tag.
          global_step: The step; it is not recorded.

        Raises:
          ValueError: The step is negative.
        """
        _check_step(global_step)
        self._added_run_metadata[tag] = run_metadata

    def flush(self) -> None:
        """Does nothing: there is no file."""

    def reopen(self) -> None:
        """Does nothing: there is no file."""

    def close(self) -> None:
        """Does nothing: there is no file."""


@export(v1="contrib.testing.assert_summary")
def assert_summary(
    expected_tags: Iterable[str], expected_simple_values: dict, summary_proto: Any
) -> None:
    """Checks the tags and values of a summary.

    Args:
      expected_tags: All tags.
      expected_simple_values: Tags to values, which are compared to two decimal places.
      summary_proto: The tf.Summary.

    Raises:
      ValueError: The tags differ.
      AssertionError: A value differs.
    """
    for value in summary_proto.value:
        if value.tag in expected_simple_values:
            expected = expected_simple_values[value.tag]
            numpy.testing.assert_almost_equal(
                value.simple_value, expected, decimal=2, err_msg=value.tag
            )
    expected_set, actual = set(expected_tags), {value.tag for value in summary_proto.value}
    if expected_set != actual:
        raise ValueError(f"Expected tags {expected_set}, got {actual}.")


@export(v1="contrib.testing.to_summary_proto")
def to_summary_proto(summary_str: bytes) -> Any:
    """Parses a summary.

    Args:
      summary_str: A tf.Summary in binary form.

    Returns:
      The tf.Summary.
    """
    return Summary.FromString(summary_str)


@export(v1="contrib.testing.latest_event_file")
def latest_event_file(base_dir: str) -> str | None:
    """Finds the event file whose name is the last in alphabetical order.

    Args:
      base_dir: The directory.

    Returns:
      Its path, or None if there is none.
    """
    return max(glob.glob(os.path.join(base_dir, "events.*")), default=None)


@export(v1="contrib.testing.latest_events")
def latest_events(base_dir: str) -> Iterable:
    """Reads the latest event file.

    Args:
      base_dir: The directory.

    Returns:
      Its events; none if there is no file.
    """
    path = latest_event_file(base_dir)
    return summary_iterator(path) if path else []


@export(v1="contrib.testing.latest_summaries")
def latest_summaries(base_dir: str) -> list:
    """Reads the events of the latest event file that have a summary.

    Args:
      base_dir: The directory.

    Returns:
      A list of tf.Event.
    """
    return [event for event in latest_events(base_dir) if event.HasField("summary")]


@export(v1="contrib.testing.simple_values_from_events")
def simple_values_from_events(events: Iterable, tags: Iterable[str]) -> dict:
    """Returns the values of summaries in the latest steps.

    Args:
      events: tf.Event messages.
      tags: The tags of the summaries.

    Returns:
      A dictionary from tags to values.

    Raises:
      ValueError: A summary with one of the tags has no simple value.
    """
    steps: dict = {}
    values = {}
    for event in events:
        for value in event.summary.value if event.HasField("summary") else ():
            if value.tag not in tags:
                continue
            if not value.HasField("simple_value"):
                raise ValueError(f"Summary for {value.tag} is not a simple_value.")
            if event.step > steps.get(value.tag, -1):
                steps[value.tag], values[value.tag] = event.step, value.simple_value
    return values
