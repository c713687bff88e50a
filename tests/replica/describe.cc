#include "tests/replica/describe.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/replica/text_entry.h"

namespace kamino::replica {

using kamino::internal::v1::ChainMessage;
using kamino::internal::v1::Fetch;
using kamino::internal::v1::Fetched;
using kamino::internal::v1::Hello;
using kamino::internal::v1::LinkPurpose;
using kamino::internal::v1::Sync;
using kamino::internal::v1::WriteIntent;

namespace {

std::string NameOf(LinkPurpose purpose) {
  switch (purpose) {
    case kamino::internal::v1::LINK_PURPOSE_APPEND:
      return "append";
    case kamino::internal::v1::LINK_PURPOSE_COMPLETION:
      return "completion";
    case kamino::internal::v1::LINK_PURPOSE_TRANSFER:
      return "transfer";
    default:
      return absl::StrCat("purpose ", static_cast<int>(purpose));
  }
}

std::string TextOf(const Hello& hello) {
  switch (hello.purpose()) {
    case kamino::internal::v1::LINK_PURPOSE_APPEND:
      return absl::StrCat("Hello, ", hello.node_id(), " appends: applied ",
                          hello.applied(), ", cleaned ", hello.cleaned());
    case kamino::internal::v1::LINK_PURPOSE_COMPLETION:
      return absl::StrCat("Hello, ", hello.node_id(), " completes");
    case kamino::internal::v1::LINK_PURPOSE_TRANSFER:
      return absl::StrCat(
          "Hello, ", hello.node_id(), " joins",
          hello.resume()
              ? absl::StrCat(": has the state after ", hello.applied())
              : "");
    default:
      return absl::StrCat("Hello, ", hello.node_id(), ", ",
                          NameOf(hello.purpose()));
  }
}

std::string TextOf(const kamino::internal::v1::RequestIdentity& request) {
  return absl::StrCat("request ", request.client_id(), "/", request.number());
}

std::string TextOf(
    const google::protobuf::RepeatedPtrField<kamino::internal::v1::RangeVote>&
        votes) {
  std::string text;
  for (const auto& vote : votes) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", vote.node_id(), " ",
                    vote.digest());
    if (vote.agreed() != 0) {
      absl::StrAppend(&text, " (", vote.agreed(), " before)");
    }
    if (vote.copied()) {
      absl::StrAppend(&text, " (a copy of ",
                      vote.source().empty() ? "?" : vote.source(), ")");
    }
  }
  return text;
}

std::string TextOf(const Sync& sync) {
  return absl::StrCat(
      "Sync: received ", sync.received(), ", applied ", sync.applied(),
      ", cleaned ", sync.cleaned(), sync.behind() ? ", behind" : "",
      sync.has_announced()
          ? absl::StrCat(", ", sync.announced().node_id(), " announced ",
                         TextOf(sync.announced().request()))
          : "");
}

std::string TextOf(const Fetch& fetch) {
  return absl::StrCat(
      "Fetch ", fetch.number(), " of ",
      absl::StrJoin(fetch.intents(), " ",
                    [](std::string* out, const WriteIntent& intent) {
                      absl::StrAppend(out, intent.object(), "+",
                                      intent.length());
                    }),
      ", received ", fetch.received());
}

std::string TextOf(const Fetched& fetched) {
  return absl::StrCat("Fetched ", fetched.number(), ": ",
                      absl::StrJoin(fetched.bytes(), " ",
                                    [](std::string* out, const std::string& s) {
                                      absl::StrAppend(out, "\"", s, "\"");
                                    }));
}

std::string DescribeEntry(absl::string_view bytes) {
  const auto entry = LogEntry::Check(bytes);
  if (!entry.ok()) {
    return absl::StrCat("Append, ", entry.status().message());
  }
  return absl::StrCat("Append ", entry->first(), "-", entry->last(), " \"",
                      TextOf(*entry), "\"");
}

}  // namespace

std::string Describe(const ChainMessage& message, absl::string_view payload) {
  switch (message.message_case()) {
    case ChainMessage::kHello:
      return TextOf(message.hello());
    case ChainMessage::kSync:
      return TextOf(message.sync());
    case ChainMessage::kAppend:
      return absl::StrCat(message.append().disputed() ? "disputed " : "",
                          message.append().deadly() ? "deadly " : "",
                          DescribeEntry(payload));
    case ChainMessage::kAnnounce:
      return message.announce().has_request()
                 ? absl::StrCat("Announce ", message.announce().number(), ": ",
                                TextOf(message.announce().request()))
                 : absl::StrCat("Announce ", message.announce().number(),
                                ": nothing");
    case ChainMessage::kAnnounceAck:
      return absl::StrCat("AnnounceAck ", message.announce_ack().number());
    case ChainMessage::kVote:
      return absl::StrCat("Vote on ", message.vote().first(), ": ",
                          message.vote().image_hash(), ", data of ",
                          message.vote().origin());
    case ChainMessage::kConvict:
      return absl::StrCat("Convict of ", message.convict().first());
    case ChainMessage::kCompare:
      return absl::StrCat("Compare ", message.compare().number(), " of range ",
                          message.compare().range(), " after ",
                          message.compare().position(), ": ",
                          TextOf(message.compare().votes()));
    case ChainMessage::kCompared:
      return absl::StrCat("Compared ", message.compared().number(),
                          " of range ", message.compared().range(), ": ",
                          message.compared().first()
                              ? "this comes first"
                              : TextOf(message.compared().votes()));
    case ChainMessage::kAppendAck:
      return absl::StrCat("AppendAck ", message.append_ack().received());
    case ChainMessage::kCompletion:
      return absl::StrCat("Completion ", message.completion().applied());
    case ChainMessage::kCleanUp:
      return absl::StrCat("CleanUp ", message.clean_up().cleaned());
    case ChainMessage::kReject:
      return absl::StrCat("Reject",
                          message.reject().behind() ? " (state of no use)" : "",
                          ": ", message.reject().reason());
    case ChainMessage::kFetch:
      return TextOf(message.fetch());
    case ChainMessage::kFetched:
      return TextOf(message.fetched());
    case ChainMessage::kStateBegin:
      return absl::StrCat(
          "StateBegin: ", message.state_begin().resume() ? "goes on" : "anew",
          message.state_begin().changes()
              ? absl::StrCat(", changes after ",
                             message.state_begin().changes_after())
              : "",
          ", applied ", message.state_begin().applied(),
          message.state_begin().borne_out() ? "" : ", not confirmed");
    case ChainMessage::kStateChunk:
      return absl::StrCat("StateChunk: ", message.state_chunk().snapshot());
    case ChainMessage::kStateChunkAck:
      return absl::StrCat("StateChunkAck ", message.state_chunk_ack().chunks());
    case ChainMessage::kStateWanted:
      return absl::StrCat("StateWanted: ", message.state_wanted().runs_size(),
                          " runs");
    case ChainMessage::MESSAGE_NOT_SET:
      return "nothing";
  }
  return "?";
}

std::vector<std::string> Describe(const Actions& actions) {
  std::vector<std::string> lines;
  for (LinkId link : actions.close)
    lines.push_back(absl::StrCat("closes ", link));
  for (const Actions::Open& open : actions.open) {
    lines.push_back(absl::StrCat("opens ", open.link, " to ",
                                 open.member.node_id, " for ",
                                 NameOf(open.purpose)));
  }
  for (const Actions::Send& send : actions.send) {
    lines.push_back(
        absl::StrCat(send.link, ": ", Describe(send.message, send.payload)));
  }
  if (actions.fetch_view) lines.push_back("fetches the view");
  if (actions.completed != 0) {
    lines.push_back(absl::StrCat("completes ", actions.completed));
  }
  if (!actions.fatal.ok()) {
    lines.push_back(absl::StrCat("stops: ", actions.fatal.message()));
  }
  return lines;
}

}  // namespace kamino::replica
