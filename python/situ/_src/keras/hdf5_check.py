# SPDX-License-Identifier: Apache-2.0
"""hdf5_check.py: visits every object, attribute and compressed array of an HDF5 file in a process
of its own: the library does not return from some damaged files, and crashes in others.

Usage: hdf5_check.py FILE SECONDS MOST_BYTES SYS_PATH... SECONDS is the processor time after which
the system ends this process, MOST_BYTES the size of the largest array that is read. What h5py
reports as an error is no problem: whoever reads the file gets the same error."""

import resource
import sys


def _visit(item, most, seen):
    """Reads the attributes of an object and of those below it; links to other files are ignored."""
    import h5py

    address = h5py.h5o.get_info(item.id).addr
    if address in seen:
        return
    seen.add(address)
    for name in item.attrs:
        try:
            item.attrs[name]
        except Exception:  # the next one may be readable
            continue
    if isinstance(item, h5py.Dataset):
        if item.chunks and item.nbytes <= most:
            item[()]
        return
    for name in item:
        if isinstance(item.get(name, getlink=True), h5py.HardLink):
            _visit(item[name], most, seen)


def main(path, seconds, most, *places):
    """Visits a file; ends by SIGXCPU after the time."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds) + 1))
    sys.path[:] = places
    try:
        import h5py

        # HDF5 itself cannot open a file without a name, whose data the parent has in memory.
        with open(path, "rb") as stream, h5py.File(stream, "r") as file:
            _visit(file, int(most), set())
    except Exception:
        return


if __name__ == "__main__":
    main(*sys.argv[1:])
