#include "lab/controller/methods.h"

#include "absl/container/flat_hash_set.h"
#include "lab/controller/line.h"

namespace kamino::bench::controller {
namespace {

// Bytes of an undo record beside the old ones: where they belong.
constexpr uint64_t kUndoHeadBytes = 8;

struct Words {
  WordNumber first;
  WordNumber end;

  uint64_t count() const { return end - first; }
};

Words WordsOf(const Event& event) {
  return {event.address / kWordBytes,
          (event.address + event.size - 1) / kWordBytes + 1};
}

class Translator {
 public:
  Translator(Method method, const Machine& machine, std::vector<Op>* ops)
      : method_(method), machine_(machine), ops_(*ops) {}

  void Translate(absl::Span<const Event> events) {
    const bool in_wrap = events.front().kind == EventKind::kOpen;
    if (in_wrap && method_ == Method::kUndoGrouped) LogAll(events);
    for (const Event& event : events) Translate(event, in_wrap);
  }

 private:
  void Add(OpKind kind, uint64_t value = 0) { ops_.push_back({kind, value}); }
  void AddCall() { Add(OpKind::kSpend, machine_.call_cycles * machine_.cycle); }

  void Translate(const Event& event, bool in_wrap) {
    switch (event.kind) {
      case EventKind::kBegin:
        return Add(OpKind::kBegin);
      case EventKind::kOpen:
        AddCall();
        if (method_ == Method::kWrap) Add(OpKind::kOpenWrap);
        return;
      case EventKind::kClose:
        AddCall();
        return Close();
      case EventKind::kLoad:
        for (LineNumber line = LineOf(WordsOf(event).first);
             line <= LineOf(WordsOf(event).end - 1); ++line) {
          Add(OpKind::kLoad, line * kWordsPerLine);
        }
        return;
      case EventKind::kStore:
        return in_wrap ? StoreInWrap(event) : Store(event, /*log=*/false);
      case EventKind::kFlush:
        if (method_ != Method::kCached) Flush(event);
        return;
      case EventKind::kDrain:
        if (method_ != Method::kCached) Add(OpKind::kFence);
        return;
      case EventKind::kCompute:
        return Add(OpKind::kSpend, event.size * kNanosecond);
    }
  }

  void StoreInWrap(const Event& event) {
    AddCall();
    if (method_ == Method::kUndo && IsNew(event)) {
      LogOld(event);
      Add(OpKind::kPushLog);
      Add(OpKind::kFence);
    }
    Store(event, /*log=*/method_ == Method::kWrap);
    if (method_ == Method::kCached || method_ == Method::kWrap) return;
    Flush(event);
    if (method_ == Method::kUndo) Add(OpKind::kFence);
  }

  void Close() {
    switch (method_) {
      case Method::kCached:
        return;
      case Method::kNonAtomic:
        return Add(OpKind::kFence);
      case Method::kUndo:
        return Add(OpKind::kNewLog);
      case Method::kUndoGrouped:
        Add(OpKind::kFence);
        Add(OpKind::kLog, machine_.marker_bytes);
        break;
      case Method::kWrap:
        Add(OpKind::kLog, machine_.marker_bytes);
        break;
    }
    Add(OpKind::kPushLog);
    Add(OpKind::kFence);
    if (method_ == Method::kWrap) Add(OpKind::kCloseWrap);
    Add(OpKind::kNewLog);
  }

  // kUndoGrouped: what a wrap will store over.
  void LogAll(absl::Span<const Event> events) {
    for (const Event& event : events) {
      if (event.kind == EventKind::kStore && IsNew(event)) LogOld(event);
    }
    Add(OpKind::kPushLog);
    Add(OpKind::kFence);
  }

  // Whether any of it was not logged yet in this wrap; counts as logged.
  bool IsNew(const Event& event) {
    bool is_new = false;
    for (WordNumber i = WordsOf(event).first; i < WordsOf(event).end; ++i) {
      is_new |= logged_.insert(i).second;
    }
    return is_new;
  }

  void LogOld(const Event& event) {
    const Words words = WordsOf(event);
    for (LineNumber line = LineOf(words.first); line <= LineOf(words.end - 1);
         ++line) {
      Add(OpKind::kLoad, line * kWordsPerLine);
    }
    Add(OpKind::kLog, kUndoHeadBytes + words.count() * kWordBytes);
  }

  void Store(const Event& event, bool log) {
    for (WordNumber i = WordsOf(event).first; i < WordsOf(event).end; ++i) {
      Add(OpKind::kStore, i);
      if (log) Add(OpKind::kLogStored);
    }
  }

  void Flush(const Event& event) {
    for (LineNumber line = LineOf(WordsOf(event).first);
         line <= LineOf(WordsOf(event).end - 1); ++line) {
      Add(OpKind::kFlush, line);
    }
  }

  const Method method_;
  const Machine& machine_;
  std::vector<Op>& ops_;
  absl::flat_hash_set<WordNumber> logged_;
};

}  // namespace

absl::string_view MethodName(Method method) {
  switch (method) {
    case Method::kCached:
      return "cached";
    case Method::kNonAtomic:
      return "non-atomic";
    case Method::kUndo:
      return "undo";
    case Method::kUndoGrouped:
      return "undo-grouped";
    case Method::kWrap:
      break;
  }
  return "wrap";
}

void Translate(Method method, const Machine& machine,
               absl::Span<const Event> events, std::vector<Op>* ops) {
  Translator(method, machine, ops).Translate(events);
}

}  // namespace kamino::bench::controller
