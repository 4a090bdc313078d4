# SPDX-License-Identifier: Apache-2.0
"""functional_raw_ops.py: tf.raw_ops.If, While, Case, For, PartitionedCall and others: ops whose
attributes are functions, given as concrete functions of tf.function."""

from __future__ import annotations

from situ._src.framework.api import OPS, export
from situ._src.ops.array_ops import convert_to_tensor
from situ._src.ops.control_flow_ops import cond as conditional
from situ._src.ops.control_flow_ops import switch_case
from situ._src.ops.while_loop import while_loop

TYPE_CHECKING = False
if TYPE_CHECKING:  # typing takes long to import
    from situ._src.framework.type_aliases import Any


def _call(function, inputs):
    """Returns the results of a function as a list."""
    results = function(*inputs)
    if results is None:
        return []
    return list(results) if isinstance(results, (list, tuple)) else [results]


def _tensors(values):
    return [convert_to_tensor(value) for value in values]


def _outputs(results, types, shapes):
    """Returns results as a list, with the shapes that the caller knows."""
    results = list(results) if isinstance(results, (list, tuple)) else [results]
    if types is not None and len(results) != len(types):
        raise ValueError(f"The functions return {len(results)} tensors, but Tout has {len(types)}.")
    for tensor, shape in zip(results, shapes or ()):
        if hasattr(tensor, "graph"):
            tensor.set_shape(shape)
    return results


def _if(op: str):
    @export("raw_ops." + op)
    def call(
        cond: Any,
        input: Any,
        Tout: Any,
        then_branch: Any,
        else_branch: Any,
        output_shapes: Any = (),
        name: str | None = None,
    ) -> Any:
        """Calls `then_branch` if `cond` is true, else `else_branch`.

        Args:
          cond: A scalar: true if it is not 0 or empty.
          input: A list of tensors, the arguments of the functions.
          Tout: The types of the results.
          then_branch: A concrete function.
          else_branch: A concrete function.
          output_shapes: The shapes of the results.
          name: A name for the operation (optional).

        Returns:
          A list of tensors.
        """
        if isinstance(then_branch, str):  # the name of a function of the graph
            return OPS[op](cond, input, Tout, then_branch, else_branch, name=name)[: len(Tout)]
        inputs, test = _tensors(input), convert_to_tensor(cond)
        if test.dtype.name != "bool":
            zero = b"" if test.dtype.name == "string" else 0
            test = OPS["NotEqual"](test, convert_to_tensor(zero, test.dtype))
        results = conditional(
            test,
            lambda: _call(then_branch, inputs),
            lambda: _call(else_branch, inputs),
            name=name or op,
        )
        return _outputs(results, Tout, output_shapes)

    call.__name__ = op


def _while(op: str):
    @export("raw_ops." + op)
    def call(
        input: Any,
        cond: Any,
        body: Any,
        output_shapes: Any = (),
        parallel_iterations: int = 10,
        name: str | None = None,
    ) -> Any:
        """Calls `body` while `cond` is true.

        Args:
          input: A list of tensors, the initial values of the loop variables.
          cond: A concrete function of the variables.
          body: A concrete function of the variables that returns the next ones.
          output_shapes: The shapes of the results.
          parallel_iterations: A hint for speed.
          name: A name for the operation (optional).

        Returns:
          A list of tensors.
        """
        if isinstance(cond, str):  # the name of a function of the graph
            return OPS[op](input, cond, body, name=name)[: len(input)]
        results = while_loop(
            lambda *values: _call(cond, values)[0],
            lambda *values: _call(body, values),
            _tensors(input),
            parallel_iterations=parallel_iterations,
            name=name or op,
        )
        return _outputs(results, None, output_shapes)

    call.__name__ = op


def _case(op: str):
    @export("raw_ops." + op)
    def call(
        branch_index: Any,
        input: Any,
        Tout: Any,
        branches: Any,
        output_shapes: Any = (),
        name: str | None = None,
    ) -> Any:
        """Calls the function with an index; the last one for other indices.

        Args:
          branch_index: An int32 scalar.
          input: A list of tensors, the arguments of the functions.
          Tout: The types of the results.
          branches: A list of concrete functions.
          output_shapes: The shapes of the results.
          name: A name for the operation (optional).

        Returns:
          A list of tensors.
        """
        inputs = _tensors(input)
        functions = [lambda f=f: _call(f, inputs) for f in branches]
        index = convert_to_tensor(branch_index, "int32")
        return _outputs(switch_case(index, functions, name=name or op), Tout, output_shapes)

    call.__name__ = op


def _partitioned_call(op: str):
    @export("raw_ops." + op)
    def call(
        args: Any,
        Tout: Any,
        f: Any,
        config: str = "",
        config_proto: str = "",
        executor_type: str = "",
        name: str | None = None,
    ) -> Any:
        """Calls a function.

        Args:
          args: A list of tensors.
          Tout: The types of the results.
          f: A concrete function.
          config: Ignored; options of TensorFlow's graph optimizers.
          config_proto: Ignored; options of TensorFlow's graph optimizers.
          executor_type: Ignored; situ has one executor.
          name: Ignored; the nodes of the function are part of the graph.

        Returns:
          A list of tensors.
        """
        del config, config_proto, executor_type, name  # they change no result
        return _outputs(_call(f, _tensors(args)), Tout, ())

    call.__name__ = op


for _name in ("If", "StatelessIf"):
    _if(_name)
for _name in ("While", "StatelessWhile"):
    _while(_name)
for _name in ("Case", "StatelessCase"):
    _case(_name)
for _name in ("PartitionedCall", "StatefulPartitionedCall"):
    _partitioned_call(_name)


@export("raw_ops.For")
def for_(start: Any, limit: Any, delta: Any, input: Any, body: Any, name: str | None = None) -> Any:
    """Calls `body` for each number of a range.

    Args:
      start: The first number, an int32 scalar.
      limit: The end of the range, an int32 scalar.
      delta: The step, an int32 scalar.
      input: A list of tensors, the initial values of the loop variables.
      body: A concrete function of a number and the variables that returns the next ones.
      name: A name for the operation (optional).

    Returns:
      A list of tensors.
    """
    end, step = (convert_to_tensor(value, "int32") for value in (limit, delta))
    zero = convert_to_tensor(0, "int32")

    def goes_on(i, *values):
        del values  # the number decides
        up, down = OPS["Less"](i, end), OPS["Greater"](i, end)
        return OPS["SelectV2"](OPS["Greater"](step, zero), up, down)

    results = while_loop(
        goes_on,
        lambda i, *values: [i + step, *_call(body, [i, *values])],
        [convert_to_tensor(start, "int32"), *_tensors(input)],
        name=name or "For",
    )
    return list(results)[1:]
