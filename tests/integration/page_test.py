"""The manager's live page, in a real browser, while nodes are killed.

Screenshots go to TEST_UNDECLARED_OUTPUTS_DIR, or to the folder that
KAMINO_SCREENSHOTS names.
"""

import base64
import os
import signal

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from harness import ENDLESS, ClusterTest, Load, free_port, main, wait_until

CHROMIUM = "/usr/bin/chromium"
DRIVER = "/usr/bin/chromedriver"
PATIENCE_S = 20


def _browser(folder):
  options = Options()
  options.binary_location = CHROMIUM
  for argument in ("--headless=new", "--no-sandbox", "--disable-gpu",
                   "--window-size=1280,900", "--disable-dev-shm-usage",
                   f"--user-data-dir={folder}"):
    options.add_argument(argument)
  options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
  return webdriver.Chrome(service=Service(DRIVER), options=options)


class PageTest(ClusterTest):

  def setUp(self):
    self.port = free_port()
    self.start = {"manager_flags": [f"--web_listen=127.0.0.1:{self.port}"]}
    super().setUp()
    # Chromium wants a home of its own.
    os.environ["HOME"] = self.folder
    self.browser = _browser(os.path.join(self.folder, "browser"))
    self.addCleanup(self.browser.quit)
    self.browser.get(f"http://127.0.0.1:{self.port}/")

  def shoot(self, name):
    folder = (os.environ.get("KAMINO_SCREENSHOTS") or
              os.environ.get("TEST_UNDECLARED_OUTPUTS_DIR"))
    if not folder:
      return
    height = self.browser.execute_script(
        "const more = document.getElementById('more');"
        "return more.open ? innerHeight : document.body.offsetHeight")
    shot = self.browser.execute_cdp_cmd("Page.captureScreenshot", {
        "clip": {"x": 0, "y": 0, "width": 1280, "height": height, "scale": 1}})
    with open(os.path.join(folder, f"{name}.png"), "wb") as file:
      file.write(base64.b64decode(shot["data"]))

  def theme(self, scheme):
    self.browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

  def cards(self, where="#chain"):
    """The texts of the nodes' cards, in order."""
    return self.browser.execute_script(
        "return [...document.querySelectorAll(arguments[0] + ' .node')]"
        ".map(e => e.innerText.replace(/\\s+/g, ' '))", where)

  def members(self):
    return self.browser.execute_script(
        "return [...document.querySelectorAll('#chain .node')]"
        ".map(e => e.dataset.node)")

  def text(self, selector):
    return self.browser.find_element(By.CSS_SELECTOR, selector).text

  def await_members(self, names):
    wait_until(lambda: self.members() == names, PATIENCE_S,
               f"the page to show {', '.join(names)}")

  def focused(self):
    return self.browser.execute_script(
        "const at = document.activeElement;"
        "return at.dataset.node || at.id || at.tagName")

  def press(self, key):
    self.browser.switch_to.active_element.send_keys(key)

  def test_a_chain_that_loses_nodes(self):
    self.await_members(["n1", "n2", "n3", "n4"])
    self.assertIn("head", self.cards()[0])
    self.assertIn("tail", self.cards()[3])
    # Links with their transport, by the nodes' own word.
    wait_until(lambda: self.text("#chain").count("tcp") == 3, PATIENCE_S,
               "three links")
    self.open_bank()
    load = Load(self.cluster, count=ENDLESS)
    wait_until(lambda: "/s" in self.cards()[0], PATIENCE_S,
               "the cursors to move")
    self.shoot("light")
    self.theme("dark")
    self.shoot("dark")
    self.keyboard()
    self.cluster.kill("n4")
    self.await_members(["n1", "n2", "n3"])
    wait_until(lambda: "n1 (head) -> n2 -> n3 (tail)" in self.text("#events"),
               PATIENCE_S, "the new view to be told")
    self.shoot("without-the-tail")
    self.cluster.restart("n4")
    self.await_members(["n1", "n2", "n3", "n4"])
    self.check_bank(load)
    self.no_errors()
    self.manager_goes()

  def keyboard(self):
    self.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ARROW_RIGHT)
    self.assertEqual(self.focused(), "n1")
    self.press(Keys.ARROW_RIGHT)
    self.assertEqual(self.focused(), "n2")
    drawn = self.text("#chain")

    def is_drawn_anew():
      # The load may be over by now.
      self.kamino("put", "something", "to draw")
      return self.text("#chain") != drawn

    wait_until(is_drawn_anew, PATIENCE_S, "a new look")
    self.assertEqual(self.focused(), "n2", "the focus stays where it is")
    self.press(Keys.ENTER)
    self.assertIn("ring bytes used", self.text("#more"))
    self.shoot("one-node")
    self.press(Keys.ESCAPE)
    wait_until(lambda: self.focused() == "n2", PATIENCE_S, "the focus again")

  def no_errors(self):
    """Nothing in the console; nothing from anywhere else."""
    self.assertEqual(self.browser.get_log("browser"), [])
    hosts = self.browser.execute_script(
        "return [...new Set(performance.getEntriesByType('resource')"
        ".map(e => new URL(e.name).host))]")
    self.assertEqual(hosts, [f"127.0.0.1:{self.port}"])

  def manager_goes(self):
    self.cluster.kill("manager", signal.SIGKILL)
    wait_until(lambda: "does not answer" in self.text("#alarm"), PATIENCE_S,
               "the page to say that the manager is gone")
    self.assertEqual(len(self.members()), 4)
    self.shoot("no-manager")
    self.cluster.restart_manager()
    wait_until(lambda: not self.text("#alarm"), PATIENCE_S,
               "the page to go on")


if __name__ == "__main__":
  main()
