"""deploy/install-packages: installs what is missing, and only that."""

import os
import re
import unittest

from programs import ROOT, ProgramTest

POLICY = "/usr/sbin/policy-rc.d"
# Everything is installed but what $MISSING names.
DPKG_QUERY = """#!/bin/sh
for package; do :; done
case " $MISSING " in
  *" $package "*) echo not-installed ;;
  *) echo installed ;;
esac
"""


class InstallPackagesTest(ProgramTest):

  def setUp(self):
    super().setUp()
    self.program("dpkg-query", DPKG_QUERY)
    self.recorder("apt-get")
    # Whatever would be done as root is only written down.
    self.program("id", "#!/bin/sh\necho 1000\n")
    self.recorder("sudo", '[ "$1" != env ] || { shift 2; exec "$@"; }\n'
                          '[ "$1" != apt-get ] || exec "$@"')

  def run_it(self, missing, *groups):
    return self.run_script("deploy/install-packages", *groups, MISSING=missing)

  def apt(self):
    return [call for call in self.calls() if call.startswith("apt-get")]

  def test_nothing_missing_does_nothing(self):
    done = self.run_it("")
    self.assertEqual((done.returncode, done.stdout), (0, ""))
    self.assertEqual(self.calls(), [])

  def test_installs_missing_packages(self):
    done = self.run_it("etcd-server make")
    self.assertEqual(done.returncode, 0, done.stdout)
    self.assertEqual(done.stdout,
                     "installing missing Debian packages: etcd-server make\n")
    update, install = self.apt()
    self.assertTrue(update.endswith(" update"), update)
    self.assertTrue(install.endswith(" install etcd-server make"), install)

  def test_installs_the_named_groups(self):
    missing = "chromium g++ redis-server"
    for groups, installed in (((), "g++ redis-server chromium"),
                              (("build",), "g++"),
                              (("tests", "build"), "chromium g++")):
      done = self.run_it(missing, *groups)
      self.assertEqual(done.returncode, 0, done.stdout)
      self.assertEqual(done.stdout, "installing missing Debian packages: "
                                    f"{installed}\n")
    done = self.run_it(missing, "build", "demo")
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stdout, "install-packages: no group of packages is "
                                  "called demo; there are: build benches "
                                  "tests\n")

  def test_no_service_is_started(self):
    """A temporary policy hook prevents it, if there is none."""
    self.run_it("etcd-server")
    hooked = [c for c in self.calls() if POLICY in c]
    if os.path.exists(POLICY):
      self.assertEqual(hooked, [])
    else:
      self.assertEqual(hooked, [f"sudo tee {POLICY}",
                                f"sudo chmod 755 {POLICY}",
                                f"sudo rm -f {POLICY}"])
      self.assertEqual(self.calls()[-1], hooked[-1])

  def test_tries_twice(self):
    self.recorder("apt-get", 'n=$(grep -c "^apt-get" "$CALLS")\n[ "$n" -gt 1 ]')
    done = self.run_it("make")
    self.assertEqual(done.returncode, 0, done.stdout)
    self.assertIn("trying once more", done.stdout)
    self.assertEqual(len(self.apt()), 3)  # update; update, install

  def test_gives_up_with_a_reason(self):
    self.recorder("apt-get", "exit 100")
    done = self.run_it("make")
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stdout.splitlines()[-1],
                     "install-packages: apt-get could not install: make")
    self.assertEqual(len(self.apt()), 2)

  def test_fails_without_root_and_sudo(self):
    """Neither root nor sudo."""
    os.remove(os.path.join(self.bin, "sudo"))
    # PATH without the machine's sudo.
    for tool in ("sed", "grep", "dirname"):
      os.symlink(f"/usr/bin/{tool}", os.path.join(self.bin, tool))
    done = self.run_script("deploy/install-packages", MISSING="make",
                           PATH=self.bin)
    self.assertEqual(done.returncode, 1)
    self.assertEqual(done.stdout.splitlines()[-1],
                     "install-packages: run as root, or install sudo")

  def test_each_package_has_a_reason(self):
    with open(os.path.join(ROOT, "deploy", "packages.txt"),
              encoding="utf-8") as f:
      head, *groups = re.split(r"^\[(\w+)\]$", f.read(), flags=re.MULTILINE)
    self.assertRegex(head, "^#[^\n]+\n\n$")
    self.assertEqual(groups[::2], ["build", "benches", "tests"])
    seen = []
    for group in groups[1::2]:
      packages = [line for line in group.split("\n")
                  if line and not line.startswith("#")]
      for line in packages:
        self.assertRegex(line, re.compile(r"^[a-z0-9][a-z0-9.+-]+ +# \S+"))
      self.assertEqual(packages, sorted(packages))
      seen += [line.split()[0] for line in packages]
    self.assertEqual(len(seen), len(set(seen)))
    self.assertGreater(len(seen), 20)


if __name__ == "__main__":
  unittest.main(verbosity=2)
