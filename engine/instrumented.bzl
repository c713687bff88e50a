"""What a package of the engine hands to //engine:instrumented.

  load("//engine:instrumented.bzl", "instrumented")
"""

def instrumented(but = []):
    """Names the package's sources and headers, for //engine:instrumented.

    Tests make patched copies of sources; see docs/testing/faults.md.

    Args:
      but: names of files, without their endings, that are not in it.
    """
    native.filegroup(
        name = "sources",
        srcs = native.glob(["*.cc"], exclude = [name + ".cc" for name in but]),
        visibility = ["//engine:__pkg__"],
    )
    native.filegroup(
        name = "headers",
        srcs = native.glob(["*.h"], exclude = [name + ".h" for name in but]),
        visibility = ["//engine:__pkg__"],
    )
    native.exports_files(
        native.glob(["*.cc"]),
        visibility = ["//tests:__subpackages__"],
    )
