"""Copies of the product's sources that can have faults planted."""

load("//tools:cc.bzl", "cc_library")

_DOES_NOT_APPLY = """\
%s does not apply to %s any more.
Run tests/faults/edit --refresh: it adapts the patch, or tells which copy under
.faults/ has conflicts to be put right. See docs/testing/faults.md."""

def faulty_copies(name, patches):
    """A patched copy of each source that has a patch.

    Args:
      name: a filegroup with all of them.
      patches: paths below this package; <path>.patch is that of //<path>, a
        source whose folder is a package that exports it.
    """
    copies = []
    for patch in patches:
        source = patch[:-len(".patch")]
        folder, _, file = source.rpartition("/")
        label = "//%s:%s" % (folder, file)
        message = _DOES_NOT_APPLY % ("tests/faults/" + patch, source)
        native.genrule(
            name = source.replace("/", "_").replace(".", "_"),
            testonly = True,
            srcs = [label, patch],
            outs = [source],
            # In a place other than the one it was made for, a hunk might mean
            # something else: no line beside it may have changed.
            cmd = """
cp $(location {label}) $@
chmod u+w $@
patch --fuzz=0 --force --silent --no-backup-if-mismatch --reject-file=- \
    $@ $(location {patch}) >&2 || {{
  echo '{message}' >&2
  exit 1
}}
""".format(label = label, patch = patch, message = message),
        )
        copies.append(source)
    native.filegroup(
        name = name,
        testonly = True,
        srcs = copies,
    )

def faulty_library(name, copies, deps, **kwargs):
    """Links copies in place of the sources they were made of.

    The linker takes all of the copies, and of an ordinary library only those
    objects that define a symbol that is still undefined. As a copy defines all
    symbols of its source, and comes first, the source's object stays out.

    Args:
      name: to be linked beside the ordinary libraries.
      copies: of faulty_copies().
      deps: the libraries that have the sources, so that these come later.
      **kwargs: of a cc_library.
    """
    cc_library(
        name = name,
        testonly = True,
        srcs = copies,
        # Some hundred files: they compile a fifth faster with fewer
        # optimisations.
        copts = ["-O1", "-include", "tests/faults/fault.h"],
        alwayslink = True,
        deps = deps + [":fault"],
        **kwargs
    )
