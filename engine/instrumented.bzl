"""What a package hands to //engine:instrumented or //lab:instrumented.

  load("//engine:instrumented.bzl", "instrumented")
"""

def instrumented(but = [], into = "//engine:__pkg__"):
    """Names the package's sources and headers, for an instrumented library.

    Tests make patched copies of sources; see docs/testing/faults.md.

    Args:
      but: names of files, without their endings, that are not in it.
      into: the package that has the library.
    """
    native.filegroup(
        name = "sources",
        srcs = native.glob(["*.cc"], exclude = [name + ".cc" for name in but]),
        visibility = [into],
    )
    native.filegroup(
        name = "headers",
        srcs = native.glob(["*.h"], exclude = [name + ".h" for name in but]),
        visibility = [into],
    )
    native.exports_files(
        native.glob(["*.cc"]),
        visibility = ["//tests:__subpackages__"],
    )
