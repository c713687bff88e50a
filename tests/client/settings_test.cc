#include "client/cli/settings.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>

#include "CLI/Config.hpp"
#include "CLI/Formatter.hpp"
#include "client/cli/piped_config.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kamino::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class SettingsTest : public ::testing::Test {
 protected:
  SettingsTest() : path_(::testing::TempDir() + "/config.toml") {}

  void Write(const std::string& text) { std::ofstream(path_) << text; }

  // Reads the words and finds what each of `wanted` needs, in that order.
  absl::Status Run(std::vector<std::string> words,
                   std::map<std::string, std::string> environment = {},
                   const std::vector<Place>& wanted = {Place::kChain}) {
    settings_ = Settings();
    settings_.servers = servers_;
    CLI::App app;
    AddSettings(&app, &settings_);
    std::reverse(words.begin(), words.end());
    app.parse(words);
    for (Place place : wanted) {
      absl::Status located = Locate(
          place, [&](const char* name) { return environment[name]; },
          &settings_);
      if (!located.ok()) return located;
    }
    return absl::OkStatus();
  }
  std::string RefusalToAdmin(std::vector<std::string> words,
                             std::map<std::string, std::string> environment) {
    return std::string(
        Run(std::move(words), std::move(environment), {Place::kManagers})
            .message());
  }

  const std::string path_;
  ServerSettings servers_;
  Settings settings_;
};

constexpr char kTwoClusters[] = R"(
current = "home"
[clusters.home]
seeds = ["h1:1", "h2:2"]
[clusters.away]
seeds = ["a1:1"]
managers = ["m1:1", "m2:2"]
)";

TEST_F(SettingsTest, TheCommandLineTakesPrecedence) {
  Write(kTwoClusters);
  ASSERT_TRUE(
      Run({"--seeds=x:1,y:2", "--managers=z:1", "--timeout=250ms", "--json"},
          {{"KAMINO_SEEDS", "e:1"}, {"KAMINO_MANAGERS", "m:1"}},
          {Place::kManagers, Place::kChain})
          .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1", "y:2"));
  EXPECT_THAT(settings_.managers, ElementsAre("z:1"));
  EXPECT_EQ(settings_.timeout, absl::Milliseconds(250));
  EXPECT_EQ(settings_.output, Output::kJson);
}

TEST_F(SettingsTest, ReadsNamedClusters) {
  Write(kTwoClusters);
  ASSERT_TRUE(Run({}, {{"KAMINO_CONFIG", path_}}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("h1:1", "h2:2"));
  EXPECT_THAT(settings_.managers, IsEmpty());
  // A name takes precedence over the environment's addresses.
  ASSERT_TRUE(Run({"--cluster=away"},
                  {{"KAMINO_CONFIG", path_}, {"KAMINO_SEEDS", "e:1"}})
                  .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
  EXPECT_THAT(settings_.managers, ElementsAre("m1:1", "m2:2"));
  ASSERT_TRUE(
      Run({}, {{"KAMINO_CONFIG", path_}, {"KAMINO_CLUSTER", "away"}}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
}

// In the order command line, environment, file.
TEST_F(SettingsTest, CertificatesComeFromTheFirstPlaceThatNamesThem) {
  Write(R"(
[clusters.home]
seeds = ["h1:1"]
tls_ca = "f-ca.pem"
tls_cert = "f.pem"
tls_key = "f.key"
tls_crl_dir = "f-crl"
)");
  std::map<std::string, std::string> environment = {{"KAMINO_CONFIG", path_},
                                                    {"KAMINO_CLUSTER", "home"}};
  const auto all = [this] {
    return std::vector<std::string>{
        settings_.tls.certificate, settings_.tls.key, settings_.tls.authorities,
        settings_.tls.revoked};
  };
  ASSERT_TRUE(Run({}, environment).ok());
  EXPECT_THAT(all(), ElementsAre("f.pem", "f.key", "f-ca.pem", "f-crl"));
  environment["KAMINO_TLS_CA"] = "e-ca.pem";
  ASSERT_TRUE(Run({}, environment).ok());
  EXPECT_THAT(all(), ElementsAre("f.pem", "f.key", "e-ca.pem", "f-crl"));
  environment["KAMINO_TLS_CERT"] = "e.pem";
  environment["KAMINO_TLS_KEY"] = "e.key";
  environment["KAMINO_TLS_CRL_DIR"] = "e-crl";
  ASSERT_TRUE(Run({}, environment, {Place::kChain, Place::kChain}).ok());
  EXPECT_THAT(all(), ElementsAre("e.pem", "e.key", "e-ca.pem", "e-crl"));
  ASSERT_TRUE(Run({"--tls_ca=t-ca.pem"}, environment).ok());
  EXPECT_THAT(all(), ElementsAre("e.pem", "e.key", "t-ca.pem", "e-crl"));
  ASSERT_TRUE(
      Run({"--tls_cert=t.pem", "--tls_key=t.key", "--tls_crl_dir=t-crl"},
          environment)
          .ok());
  EXPECT_THAT(all(), ElementsAre("t.pem", "t.key", "e-ca.pem", "t-crl"));
}

// They would not fit.
TEST_F(SettingsTest, ACertificateAndItsKeyComeFromOnePlace) {
  Write(
      "[clusters.home]\nseeds = [\"h1:1\"]\ntls_ca = \"ca.pem\"\n"
      "tls_cert = \"f.pem\"\ntls_key = \"f.key\"\n");
  std::map<std::string, std::string> environment = {{"KAMINO_CONFIG", path_},
                                                    {"KAMINO_CLUSTER", "home"}};
  EXPECT_THAT(
      std::string(Run({"--tls_cert=t.pem"}, environment).message()),
      HasSubstr("but --tls_key is missing, and they go together: give "
                "--tls_key=FILE, set tls_key in the configuration file, or "
                "export KAMINO_TLS_KEY; a certificate and its key are taken "
                "from one of these places"));
  environment["KAMINO_TLS_KEY"] = "e.key";
  EXPECT_THAT(std::string(Run({}, environment).message()),
              HasSubstr("KAMINO_TLS_KEY: --tls_key and --tls_ca are given, but "
                        "--tls_cert is missing"));
  EXPECT_EQ(settings_.tls.certificate, "");
}

TEST_F(SettingsTest, MissingCertificateSettingsAreNamed) {
  Write("[clusters.home]\nseeds = [\"h1:1\"]\ntls_ca = \"ca.pem\"\n");
  EXPECT_EQ(Run({"--cluster=home"}, {{"KAMINO_CONFIG", path_}}).message(),
            path_ +
                ":3: --tls_ca is given, but --tls_cert and --tls_key are "
                "missing, and they go together: give --tls_cert=FILE and "
                "--tls_key=FILE, set tls_cert and tls_key in the configuration "
                "file, or export KAMINO_TLS_CERT and KAMINO_TLS_KEY");
  // The caller's certificate and key may be elsewhere.
  EXPECT_TRUE(CheckConfigFile(path_, servers_).ok());
  EXPECT_TRUE(Run({"--cluster=home"}, {{"KAMINO_CONFIG", path_},
                                       {"KAMINO_TLS_CERT", "e.pem"},
                                       {"KAMINO_TLS_KEY", "e.key"}})
                  .ok());
}

TEST_F(SettingsTest, InsecureFollowsTheSamePrecedence) {
  Write(
      "[clusters.home]\nseeds = [\"h1:1\"]\ntls_ca = \"ca.pem\"\n"
      "tls_cert = \"f.pem\"\ntls_key = \"f.key\"\n"
      "[clusters.open]\nseeds = [\"h1:1\"]\ninsecure = true\n");
  std::map<std::string, std::string> environment = {{"KAMINO_CONFIG", path_}};
  ASSERT_TRUE(Run({"--cluster=home", "--insecure"}, environment).ok());
  EXPECT_FALSE(settings_.tls.any());
  EXPECT_TRUE(settings_.insecure);
  // Given certificates take precedence.
  environment["KAMINO_INSECURE"] = "1";
  ASSERT_TRUE(Run({"--cluster=home"}, environment).ok());
  EXPECT_TRUE(settings_.tls.any());
  EXPECT_FALSE(settings_.insecure);
  ASSERT_TRUE(Run({"--seeds=x:1"}, environment).ok());
  EXPECT_TRUE(settings_.insecure);
  environment = {{"KAMINO_CONFIG", path_},
                 {"KAMINO_TLS_CERT", "e.pem"},
                 {"KAMINO_TLS_KEY", "e.key"},
                 {"KAMINO_TLS_CA", "e-ca.pem"}};
  ASSERT_TRUE(Run({"--cluster=open"}, environment).ok());
  EXPECT_TRUE(settings_.tls.any());
  EXPECT_FALSE(settings_.insecure);
  ASSERT_TRUE(Run({"--cluster=open", "--insecure"}, environment).ok());
  EXPECT_FALSE(settings_.tls.any());
  EXPECT_TRUE(settings_.insecure);
  EXPECT_THAT(
      std::string(
          Run({"--seeds=x:1", "--insecure", "--tls_ca=t.pem"}).message()),
      HasSubstr("leave out one of the two"));
}

TEST_F(SettingsTest, TheInsecureVariableIsZeroOrOne) {
  for (const char* value : {"yes", "true", "01", " "}) {
    const absl::Status refused =
        Run({"--seeds=x:1"}, {{"KAMINO_INSECURE", value}});
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << value;
    EXPECT_EQ(refused.message(),
              "KAMINO_INSECURE is \"" + std::string(value) +
                  "\"; it must be 1, to go without certificates, or 0");
  }
  for (const char* value : {"", "0"}) {
    ASSERT_TRUE(Run({"--seeds=x:1"}, {{"KAMINO_INSECURE", value}}).ok());
    EXPECT_FALSE(settings_.insecure) << value;
  }
}

// Otherwise `admin remove` could reach another cluster than `status` showed.
TEST_F(SettingsTest, SeedsAndManagersComeFromOnePlace) {
  Write(kTwoClusters);
  const std::string config = "--config=" + path_;
  const std::map<std::string, std::string> managers = {
      {"KAMINO_MANAGERS", "m:1"}};
  for (const char* addresses : {"--seeds=x:1", "--managers=x:1"}) {
    EXPECT_THAT(RefusalToAdmin({addresses, "--cluster=away", config}, {}),
                HasSubstr("use one or the other"))
        << addresses;
  }
  EXPECT_THAT(RefusalToAdmin({"--seeds=x:1"}, managers),
              HasSubstr("the command line names seeds but no managers: give "
                        "--managers too; kamino takes both from one source"));
  EXPECT_THAT(RefusalToAdmin({"--cluster=home", config}, managers),
              HasSubstr("cluster home of " + path_ +
                        " names seeds but no managers: set managers there"));
  EXPECT_THAT(RefusalToAdmin({}, {{"KAMINO_CONFIG", path_}}),
              HasSubstr("cluster home of " + path_ +
                        " names seeds but no managers: set managers there"));
  EXPECT_THAT(RefusalToAdmin({}, {{"KAMINO_SEEDS", "e:1"},
                                  {"KAMINO_CONFIG", path_},
                                  {"KAMINO_CLUSTER", "away"}}),
              HasSubstr("the environment names seeds but no managers: set "
                        "KAMINO_MANAGERS too; kamino takes both from one "
                        "source"));
  EXPECT_THAT(std::string(Run({}, managers).message()),
              HasSubstr("the environment names managers but no seeds: set "
                        "KAMINO_SEEDS too"));
  ASSERT_TRUE(Run({config, "--cluster=away"}, managers,
                  {Place::kChain, Place::kManagers})
                  .ok());
  EXPECT_THAT(settings_.managers, ElementsAre("m1:1", "m2:2"));
}

// Otherwise an exported variable would override what the user typed.
TEST_F(SettingsTest, ANamedFileOverridesTheEnvironment) {
  Write(kTwoClusters);
  const std::string config = "--config=" + path_;
  std::map<std::string, std::string> elsewhere = {{"KAMINO_SEEDS", "e:1"},
                                                  {"KAMINO_MANAGERS", "m:1"}};
  ASSERT_TRUE(Run({config}, elsewhere).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("h1:1", "h2:2"));
  EXPECT_THAT(RefusalToAdmin({config}, elsewhere),
              HasSubstr("cluster home of " + path_ +
                        " names seeds but no managers: set managers there"));
  elsewhere["KAMINO_CLUSTER"] = "away";
  ASSERT_TRUE(Run({config}, elsewhere).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
  for (const char* addresses : {"--seeds=x:1", "--managers=x:1"}) {
    EXPECT_THAT(RefusalToAdmin({addresses, config}, {}),
                HasSubstr("--config says where the cluster is"))
        << addresses;
  }
  Write("[clusters.home]\nseeds = [\"h1:1\"]\n");
  elsewhere.erase("KAMINO_CLUSTER");
  EXPECT_THAT(std::string(Run({config}, elsewhere).message()),
              HasSubstr("it sets no current cluster; name one by --cluster"));
}

TEST_F(SettingsTest, AddressesAreTrimmedAndHaveNoScheme) {
  ASSERT_TRUE(Run({"--seeds= x:1 ,\ty:2,"}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1", "y:2"));
  ASSERT_TRUE(Run({}, {{"KAMINO_SEEDS", "x:1, y:2\n"}}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1", "y:2"));
  EXPECT_EQ(Run({}, {{"KAMINO_SEEDS", "http://x:1"}}).message(),
            "KAMINO_SEEDS: \"http://x:1\" is not host:port: leave out the "
            "scheme and its ://");
  EXPECT_THAT(std::string(Run({}, {{"KAMINO_SEEDS", "x:1 y:2"}}).message()),
              HasSubstr("white space"));
  EXPECT_THROW(static_cast<void>(Run({"--seeds=http://x:1"})), CLI::ParseError);
  const std::string config = "--config=" + path_;
  Write("current = \"a\"\n[clusters.a]\nseeds = [\" h1:1 \"]\n");
  ASSERT_TRUE(Run({config}).ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("h1:1"));
  Write("current = \"a\"\n[clusters.a]\nseeds = [\"http://h1:1\"]\n");
  EXPECT_THAT(std::string(Run({config}).message()),
              HasSubstr("seeds is no array of \"host:port\": \"http://h1:1\" "
                        "is not host:port: leave out"));
}

TEST_F(SettingsTest, TheDefaultFileIsOptional) {
  EXPECT_THAT(std::string(Run({}, {{"HOME", "/no/such"}}).message()),
              HasSubstr("no seeds are known"));
  EXPECT_THAT(RefusalToAdmin({}, {{"HOME", "/no/such"}}),
              HasSubstr("no managers are known"));
}

TEST_F(SettingsTest, AnUnreadableDefaultFileIsAnError) {
  const std::string home = ::testing::TempDir() + "/home";
  const std::string path = home + "/.config/kamino/config.toml";
  std::filesystem::create_directories(path);
  EXPECT_EQ(Run({}, {{"HOME", home}}).message(),
            path + ": is a folder, not a configuration file");
  EXPECT_TRUE(Run({"--seeds=x:1"}, {{"HOME", home}}).ok());
  std::filesystem::remove(path);
  std::filesystem::create_symlink("gone", path);
  EXPECT_EQ(Run({}, {{"HOME", home}}).message(),
            path +
                ": the configuration file cannot be read: No such file or "
                "directory");
  std::filesystem::remove_all(home);
}

TEST_F(SettingsTest, TheFileMayBeAPipe) {
  const std::string pipe = ::testing::TempDir() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(ReadableConfig(pipe, absl::Milliseconds(1)).status().message(),
            pipe + ": no program has written and closed this pipe in time");
  std::thread writer([&pipe] { std::ofstream(pipe) << kTwoClusters; });
  EXPECT_TRUE(Run({"--config=" + pipe, "--cluster=away"}, {},
                  {Place::kManagers, Place::kChain})
                  .ok());
  writer.join();
  EXPECT_THAT(settings_.seeds, ElementsAre("a1:1"));
  ASSERT_TRUE(CheckConfigFile(pipe, servers_).ok());
  EXPECT_THAT(std::string(Run({"--config=/dev/zero"}).message()),
              HasSubstr("/dev/zero: has over 1048576 bytes"));
  EXPECT_THAT(std::string(Run({"--config=/dev/null"}).message()),
              HasSubstr("/dev/null: it sets no current cluster"));
  const std::string wrong = ::testing::TempDir() + "/wrong";
  ASSERT_EQ(mkfifo(wrong.c_str(), 0600), 0);
  std::thread another([&wrong] { std::ofstream(wrong) << "a =\n"; });
  EXPECT_THAT(std::string(Run({"--config=" + wrong}).message()),
              StartsWith(wrong + ":1: "));
  another.join();
}

TEST_F(SettingsTest, TheFileIsReadOnlyWhenItIsNeeded) {
  Write("one\ntwo =\n");
  EXPECT_TRUE(Run({"--seeds=x:1", "--managers=m:1"},
                  {{"KAMINO_CLUSTER", "nowhere"}, {"KAMINO_CONFIG", path_}})
                  .ok());
  EXPECT_THAT(settings_.seeds, ElementsAre("x:1"));
}

TEST_F(SettingsTest, ErrorsNameTheWrongSetting) {
  const auto message = [&](std::vector<std::string> words) {
    return std::string(Run(std::move(words)).message());
  };
  EXPECT_THAT(message({"--config=/no/such"}), HasSubstr("/no/such"));
  EXPECT_EQ(message({"--cluster=home"}),
            "there is no configuration file; --cluster=home takes its "
            "addresses from there");
  Write(kTwoClusters);
  EXPECT_THAT(message({"--config=" + path_, "--cluster=elsewhere"}),
              HasSubstr("no cluster elsewhere; it has away, home"));
  Write("[clusters.home]\nseeds = \"h1:1\"\n");
  EXPECT_THAT(message({"--config=" + path_, "--cluster=home"}),
              HasSubstr("seeds is no array"));
  Write("current = 5\n");
  EXPECT_THAT(message({"--config=" + path_}), HasSubstr("current is no name"));
  Write("[clusters.home]\nseeds = [\"nonsense\"]\n");
  EXPECT_THAT(message({"--config=" + path_, "--cluster=home"}),
              HasSubstr("seeds is no array"));
  EXPECT_THAT(message({"--config=" + ::testing::TempDir()}),
              HasSubstr("is a folder, not a configuration file"));
  Write("one\ntwo =\n");
  EXPECT_THAT(message({"--config=" + path_}), HasSubstr(path_ + ":1: "));
  Write("\n[clusters.home]\nseds = [\"h1:1\"]\n");
  EXPECT_THAT(
      message({"--config=" + path_, "--cluster=home"}),
      HasSubstr(path_ + ":3: cluster home can have no key seds (did you "
                        "mean seeds?)"));
  Write("[cluster.home]\nseeds = [\"h1:1\"]\n");
  EXPECT_THAT(message({"--config=" + path_}),
              HasSubstr("the file can have no section [cluster] (did you mean "
                        "clusters?)"));
}

TEST_F(SettingsTest, TheFileSuppliesUnsetOptions) {
  Write(R"(
current = "home"
cluster_id = "c"
timeout = "1s"
[clusters.home]
seeds = ["h1:1"]
carrier = "tcp"
[clusters.away]
seeds = ["a1:1"]
timeout = "3s"
[client]
timeout = "2s"
carrier = "unary"
[node]
data_dir = "/d"
)");
  servers_ = {{"node", {"cluster_id", "data_dir"}}};
  const std::string config = "--config=" + path_;
  ASSERT_TRUE(Run({config}).ok());
  EXPECT_EQ(settings_.timeout, absl::Seconds(2));
  EXPECT_EQ(settings_.carrier, "tcp");
  ASSERT_TRUE(Run({config, "--cluster=away"}).ok());
  EXPECT_EQ(settings_.timeout, absl::Seconds(3));
  EXPECT_EQ(settings_.carrier, "unary");
  ASSERT_TRUE(Run({config, "--timeout=9s", "--carrier=grpc"}).ok());
  EXPECT_EQ(settings_.timeout, absl::Seconds(9));
  EXPECT_EQ(settings_.carrier, "grpc");
  EXPECT_TRUE(CheckConfigFile(path_, servers_).ok());
}

TEST_F(SettingsTest, TheFileMaySetTheKeyEncoding) {
  Write(std::string(kTwoClusters) + "[client]\nkey_encoding = \"hex\"\n");
  const std::string config = "--config=" + path_;
  ASSERT_TRUE(Run({config}).ok());
  EXPECT_EQ(settings_.key_encoding, KeyEncoding::kHex);
  ASSERT_TRUE(Run({config, "--key_encoding=base64"}).ok());
  EXPECT_EQ(settings_.key_encoding, KeyEncoding::kBase64);
  ASSERT_TRUE(Run({"--seeds=x:1"}).ok());
  EXPECT_EQ(settings_.key_encoding, KeyEncoding::kByPlace);
  Write(std::string(kTwoClusters) + "[client]\nkey_encoding = \"hexa\"\n");
  EXPECT_THAT(std::string(Run({config}).message()),
              HasSubstr("--key_encoding: hexa not in {"));
}

TEST_F(SettingsTest, ErrorsInServerSettingsAreReported) {
  servers_ = {{"node", {"cluster_id", "data_dir"}}};
  const auto refusal = [&](const std::string& text) {
    Write(text);
    const absl::Status checked = CheckConfigFile(path_, servers_);
    EXPECT_EQ(Run({"--config=" + path_, "--cluster=a"}).message(),
              checked.message());
    return std::string(checked.message());
  };
  const std::string cluster = "[clusters.a]\nseeds = [\"a:1\"]\n";
  EXPECT_EQ(refusal("data_dri = \"/d\"\n" + cluster),
            path_ +
                ":1: the file can have no key data_dri (did you mean "
                "data_dir?)");
  EXPECT_THAT(refusal(cluster + "[node]\ndatadir = 1\n"),
              HasSubstr(":4: [node] can have no key datadir (did you mean"));
  EXPECT_THAT(refusal(cluster + "[client]\ntimeot = 1\n"),
              HasSubstr(":4: [client] can have no key timeot (did you mean"));
  EXPECT_THAT(refusal(cluster + "[client]\ntimeout = \"soon\"\n"),
              HasSubstr(":4: --timeout: \"soon\" is no duration"));
  EXPECT_THAT(refusal(cluster + "[client]\ntimeout = [1]\n"),
              HasSubstr(":4: timeout must be a text"));
  EXPECT_THAT(refusal(cluster + "carrier = \"pigeon\"\n"),
              HasSubstr(":3: --carrier: "));
  EXPECT_THAT(refusal("client = 1\n" + cluster),
              HasSubstr(":1: client is a section, as in [client]"));
  // The output format is the command's, not the cluster's.
  EXPECT_THAT(refusal(cluster + "output = \"json\"\n"),
              HasSubstr("cluster a can have no key output"));
}

// As if from variables that are not set: the command would reach the cluster
// that the environment names.
TEST_F(SettingsTest, EmptyOptionsAreRefused) {
  const std::map<std::string, std::string> elsewhere = {
      {"KAMINO_SEEDS", "e:1"}, {"KAMINO_MANAGERS", "m:1"}};
  for (const char* option :
       {"--seeds", "--managers", "--cluster", "--config"}) {
    EXPECT_THROW(static_cast<void>(Run({option, ""}, elsewhere)),
                 CLI::ParseError)
        << option;
    EXPECT_THROW(static_cast<void>(Run({std::string(option) + "="}, elsewhere)),
                 CLI::ParseError)
        << option;
  }
  EXPECT_THROW(static_cast<void>(Run({"--seeds=,"}, elsewhere)),
               CLI::ParseError);
}

TEST_F(SettingsTest, DurationsAndFormsAreChecked) {
  for (const char* word :
       {"--timeout=0", "--timeout=soon", "--timeout=-1s", "--output=pretty",
        "--output=JSON", "--seeds", "--seeds=nowhere", "--seeds=h:99999"}) {
    EXPECT_THROW(static_cast<void>(Run({word})), CLI::ParseError) << word;
  }
  ASSERT_TRUE(Run({"--output=raw", "--seeds=x:1"}).ok());
  EXPECT_EQ(settings_.output, Output::kRaw);
}

TEST_F(SettingsTest, ContradictingFormsAreRefused) {
  const std::vector<std::vector<std::string>> contradictions = {
      {"--json", "--raw"},
      {"--output=json", "--raw"},
      {"--output=table", "--json"},
      {"--output=raw", "--json"}};
  for (const std::vector<std::string>& words : contradictions) {
    EXPECT_THROW(static_cast<void>(Run(words)), CLI::ValidationError)
        << words[0] << " " << words[1];
  }
  ASSERT_TRUE(Run({"--output=json", "--json", "--seeds=x:1"}).ok());
  EXPECT_EQ(settings_.output, Output::kJson);
}

TEST_F(SettingsTest, WordsAskForJsonBeforeTheyAreParsed) {
  EXPECT_TRUE(AskForJson({"get", "a", "--seeds=foo", "--json"}));
  EXPECT_TRUE(AskForJson({"--output=json", "get", "a"}));
  EXPECT_TRUE(AskForJson({"get", "a", "--output", "json"}));
  EXPECT_FALSE(AskForJson({"get", "json", "--output=raw"}));
  EXPECT_FALSE(AskForJson({"get", "--", "--json"}));
  EXPECT_FALSE(AskForJson({"get", "a", "--output"}));
}

}  // namespace
}  // namespace kamino::client
