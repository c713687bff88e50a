// commit, call, outcome.
#include <iostream>
#include <memory>
#include <string>

#include "CLI/Formatter.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/escape.h"
#include "client/cli/cli.h"
#include "client/cli/commit_words.h"
#include "client/error.h"
#include "rpc/cluster_identity.h"

namespace kamino::client {
namespace {

using kamino::v1::CommitResponse;

void PrintResults(const CommitResponse& response, KeyEncoding keys) {
  for (const auto& result : response.results()) {
    if (result.key().empty()) continue;  // not a get
    std::cout << EncodeKey(keys, result.key())
              << (result.found()
                      ? absl::StrCat("\t", Escape(result.value()), "\n")
                      : " is absent\n");
  }
  std::cout << absl::StrCat(
      response.succeeded() ? "ok" : "conditions did not hold", ", version ",
      response.header().sequence(), "\n");
}

// The error that the service returns with fail_on_conflict. Here the commit ran
// its else branch and has a version.
absl::Status Conflict(const CommitResponse& response, KeyEncoding keys) {
  kamino::v1::ErrorDetail detail;
  detail.set_reason(kamino::v1::REASON_CONFLICT);
  *detail.mutable_keys() = response.failed_keys();
  detail.set_served_by(response.header().served_by());
  return MakeError(
      absl::StatusCode::kAborted, detail,
      absl::StrCat(
          "conditions on these keys did not hold: ",
          absl::StrJoin(response.failed_keys(), ", ",
                        [keys](std::string* text, const std::string& key) {
                          text->append(EncodeKey(keys, key));
                        })));
}

int RunCommit(Cli& cli, const Words& words) {
  const KeyEncoding keys = cli.Keys();
  auto request = ParseCommit(words, keys);
  if (!request.ok()) {
    return cli.FailUsage(
        absl::StrCat(request.status().message(), "; see kamino help commit"));
  }
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto response = (*client)->Commit(*request);
  if (!response.ok()) return cli.Fail(response.status());
  if (cli.json()) {
    PrintJson(*response);
  } else {
    PrintResults(*response, keys);
  }
  return response->succeeded() ? kExitOk : cli.Fail(Conflict(*response, keys));
}

int RunCall(Cli& cli, const std::string& procedure,
            const std::string& arguments) {
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  auto called = (*client)->Call(procedure, arguments);
  if (!called.ok()) return cli.Fail(called.status());
  if (cli.json()) {
    PrintJson(*called);
  } else {
    std::cout << called->result() << (cli.raw() ? "" : "\n");
  }
  return kExitOk;
}

constexpr char kCommitUsage[] =
    "[if CONDITION]... [then] OPERATION... [else OPERATION...]";

struct OutcomeOptions {
  uint64_t client_id = 0;
  uint64_t number = 0;
  std::string since = "0";
  std::string cluster_uuid;  // "": any
};

constexpr char kInSession[] = "session";

// Another cluster would answer "not committed".
absl::Status CheckSent(const std::string& cluster_uuid, const Client& client) {
  const rpc::ClusterIdentity& asked = *client.cluster();
  if (cluster_uuid.empty() || asked.Fits(cluster_uuid)) {
    return absl::OkStatus();
  }
  return MakeError(
      absl::StatusCode::kInvalidArgument, kamino::v1::REASON_OTHER_CLUSTER,
      absl::StrCat("the seeds are of cluster ", asked.ToString(),
                   ", and the mutation was sent to the cluster of uuid ",
                   cluster_uuid, "; name seeds of that cluster"));
}

int RunOutcome(Cli& cli, const OutcomeOptions& options) {
  auto client = cli.Connect();
  if (!client.ok()) return cli.Fail(client.status());
  if (absl::Status same = CheckSent(options.cluster_uuid, **client);
      !same.ok()) {
    return cli.Fail(same);
  }
  const bool in_session = options.since == kInSession;
  uint64_t since = 0;
  if (!in_session && !absl::SimpleAtoi(options.since, &since)) {
    return cli.Fail(absl::InvalidArgumentError(absl::StrCat(
        "SINCE is a number or the word session, not ", options.since)));
  }
  auto outcome = (*client)->GetOutcome(options.client_id, options.number, since,
                                       in_session);
  if (!outcome.ok()) {
    const int code = cli.Fail(outcome.status());
    // The node refuses SINCE: it is ahead of the chain.
    return absl::IsInvalidArgument(outcome.status()) ? kExitUsage : code;
  }
  if (cli.json()) {
    PrintJson(*outcome);
    return kExitOk;
  }
  switch (outcome->outcome()) {
    case kamino::v1::OUTCOME_COMMITTED:
      std::cout << absl::StrCat("committed, version ", outcome->sequence(),
                                "\n");
      break;
    case kamino::v1::OUTCOME_SUPERSEDED:
      std::cout << (in_session
                        ? std::string(
                              "superseded: a later number has its slot\n")
                        : absl::StrCat("superseded: number ",
                                       outcome->last_number(),
                                       " has committed since\n"));
      break;
    case kamino::v1::OUTCOME_NOT_COMMITTED:
      std::cout << "not committed\n";
      break;
    default:
      std::cout << "not known any more: it may have committed or not\n";
  }
  return kExitOk;
}

// The library passes on words that are not options, including mistyped ones.
absl::StatusOr<Words> CommitWords(Words words, const Words& literal) {
  for (const std::string& word : words) {
    // Numbers may be negative, and so may values.
    if (word.size() < 2 || word[0] != '-' || absl::ascii_isdigit(word[1])) {
      continue;
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "commit has no option ", word, "; words behind -- are none"));
  }
  words.insert(words.end(), literal.begin(), literal.end());
  return words;
}

// Adds the words of a commit to the help, which the library does not know.
class CommitFormatter : public CLI::Formatter {
 public:
  using CLI::Formatter::Formatter;
  std::string make_usage(const CLI::App*, std::string name) const override {
    return absl::StrCat("Usage: ", name, " [OPTIONS] ", kCommitUsage, "\n");
  }
};

void AddCommit(CLI::App* app, Cli* cli) {
  CLI::App* commit =
      AddCommand(app, cli, "commit",
                 absl::StrCat("Executes several operations atomically, or none "
                              "if a condition does not hold: ",
                              kCommitUsage, "."),
                 "  kamino commit put a 1 put b 2\n"
                 "  kamino commit if version a 7 then put a 2 else get a\n"
                 "  kamino commit if absent lock then put lock me\n"
                 "Conditions: exists K, absent K, version K N, value K TEXT,\n"
                 "            unchanged START END SEQUENCE\n"
                 "Operations: put K V, patch K OFFSET DATA, del K, get K\n"
                 "K is a key, V its whole value, N a version as put prints "
                 "it, DATA the bytes\n"
                 "to write from byte OFFSET on.");
  auto formatter = std::make_shared<CommitFormatter>();
  formatter->column_width(app->get_formatter()->get_column_width());
  commit->formatter(formatter);
  // As extras, not as an option of many values, because the library would split
  // "[a,b]".
  commit->allow_extras();
  commit->callback([=] {
    cli->run = [=] {
      const auto words = CommitWords(commit->remaining(), cli->literal_words());
      if (!words.ok()) return cli->FailUsage(words.status().message());
      return RunCommit(*cli, *words);
    };
  });
}

void AddCall(CLI::App* app, Cli* cli) {
  auto procedure = std::make_shared<std::string>();
  auto arguments = std::make_shared<std::string>();
  CLI::App* call =
      AddCommand(app, cli, "call", "Runs a procedure at the head, atomically.",
                 "  kamino commit put alice 10 put bob 5\n"
                 "  kamino call bank.transfer 'alice bob 3'    # 7 8");
  call->add_option("PROCEDURE", *procedure,
                   "The procedure's name at the nodes.")
      ->required()
      ->type_name("");
  call->add_option("ARGUMENTS", *arguments,
                   "The procedure's arguments, as one word.")
      ->required()
      ->type_name("");
  call->callback([=] {
    cli->run = [=] { return RunCall(*cli, *procedure, *arguments); };
  });
}

void AddOutcome(CLI::App* app, Cli* cli) {
  auto options = std::make_shared<OutcomeOptions>();
  CLI::App* outcome =
      AddCommand(app, cli, "outcome", "Shows the outcome of a mutation.",
                 "  kamino outcome 6129484611666145821 3 1207\n"
                 "  kamino outcome 8210466389915733402 77 session\n"
                 "An error that reports an unknown outcome prints the complete "
                 "command.");
  outcome
      ->add_option("CLIENT_ID", options->client_id,
                   "The id of the client or session that sent it.")
      ->required()
      ->type_name("")
      ->transform(Decimal());
  outcome->add_option("NUMBER", options->number, "The number of the mutation.")
      ->required()
      ->type_name("")
      ->transform(Decimal());
  outcome
      ->add_option("SINCE", options->since,
                   "The newest version seen before the mutation was first "
                   "sent; without it the outcome may not be known. Or the word "
                   "session, if CLIENT_ID is the id of a session.")
      ->type_name("");
  outcome
      ->add_option("--cluster_uuid", options->cluster_uuid,
                   "The uuid of the cluster that the mutation was sent to. "
                   "Refuses to ask another cluster, which knows nothing of it.")
      ->type_name("UUID");
  outcome->callback(
      [=] { cli->run = [=] { return RunOutcome(*cli, *options); }; });
}

}  // namespace

void AddCommitCommands(CLI::App* app, Cli* cli) {
  AddCommit(app, cli);
  AddCall(app, cli);
  AddOutcome(app, cli);
}

}  // namespace kamino::client
