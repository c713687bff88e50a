#include "client/cli/commit_words.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace kamino::client {
namespace {

using kamino::v1::CommitRequest;
using kamino::v1::Operation;
using kamino::v1::Precondition;

// Takes words in turn, and records the first error.
class Parser {
 public:
  Parser(const std::vector<std::string>& words, KeyEncoding keys)
      : words_(words), keys_(keys) {}

  bool AtEnd() const { return !status_.ok() || next_ == words_.size(); }
  const std::string& Peek() const { return words_[next_]; }

  std::string Word(const char* what) {
    if (status_.ok() && next_ == words_.size()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("the command ends where the ", what, " should be"));
    }
    return status_.ok() ? words_[next_++] : "";
  }

  std::string Key(const char* what = "key") {
    auto key = DecodeKey(keys_, KeyPlace::kWord, Word(what));
    if (status_.ok()) status_ = key.status();
    return status_.ok() ? *std::move(key) : "";
  }

  uint64_t Number(const char* what) {
    const std::string word = Word(what);
    uint64_t number = 0;
    if (status_.ok() && !absl::SimpleAtoi(word, &number)) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is no number (", what, ")"));
    }
    return number;
  }

  // `what`: the kind of word that must stand there. `words`: all of that kind.
  void Unknown(const std::string& word, const char* what, const char* words) {
    if (status_.ok()) {
      status_ = absl::InvalidArgumentError(
          absl::StrCat("\"", word, "\" is not ", what, "; one is ", words));
    }
  }

  const absl::Status& status() const { return status_; }

 private:
  const std::vector<std::string>& words_;
  const KeyEncoding keys_;
  size_t next_ = 0;
  absl::Status status_;
};

void ParseCondition(Parser* parser, Precondition* condition) {
  const std::string kind = parser->Word("condition");
  if (kind == "exists" || kind == "absent") {
    condition->set_key(parser->Key());
    condition->set_exists(kind == "exists");
  } else if (kind == "version") {
    condition->set_key(parser->Key());
    condition->set_version_equals(parser->Number("version"));
  } else if (kind == "value") {
    condition->set_key(parser->Key());
    condition->set_value_equals(parser->Word("value"));
  } else if (kind == "unchanged") {
    auto* range = condition->mutable_range_unchanged();
    range->set_start_key(parser->Key("start key"));
    range->set_end_key(parser->Key("end key"));
    range->set_sequence(parser->Number("sequence"));
  } else {
    parser->Unknown(kind, "a condition",
                    "exists, absent, version, value or unchanged");
  }
}

void ParseOperation(Parser* parser, Operation* operation) {
  const std::string kind = parser->Word("operation");
  if (kind == "put") {
    operation->mutable_put()->set_key(parser->Key());
    operation->mutable_put()->set_value(parser->Word("value"));
  } else if (kind == "patch") {
    operation->mutable_patch()->set_key(parser->Key());
    operation->mutable_patch()->set_offset(parser->Number("offset"));
    operation->mutable_patch()->set_data(parser->Word("data"));
  } else if (kind == "del") {
    operation->mutable_delete_()->set_key(parser->Key());
  } else if (kind == "get") {
    operation->mutable_get()->set_key(parser->Key());
  } else {
    parser->Unknown(kind, "an operation", "put, patch, del or get");
  }
}

}  // namespace

absl::StatusOr<CommitRequest> ParseCommit(const std::vector<std::string>& words,
                                          KeyEncoding keys) {
  CommitRequest request;
  Parser parser(words, keys);
  while (!parser.AtEnd() && parser.Peek() == "if") {
    parser.Word("if");
    ParseCondition(&parser, request.add_preconditions());
  }
  if (!parser.AtEnd() && parser.Peek() == "then") parser.Word("then");
  while (!parser.AtEnd() && parser.Peek() != "else") {
    ParseOperation(&parser, request.add_then_operations());
  }
  if (!parser.AtEnd()) {
    parser.Word("else");
    do {
      ParseOperation(&parser, request.add_else_operations());
    } while (!parser.AtEnd());
  }
  if (!parser.status().ok()) return parser.status();
  if (words.empty()) return absl::InvalidArgumentError("nothing to commit");
  return request;
}

}  // namespace kamino::client
