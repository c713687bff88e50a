// Mutations of what happens to a chain node: by steps, by fields of messages,
// by bytes.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "replica/link/chain_frame.h"
#include "tests/fuzz/chain_script.h"
#include "tests/fuzz/situations.h"
#include "tests/fuzz/targets.h"

namespace kamino::fuzz {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using Random = std::mt19937_64;

uint64_t Number(uint64_t was, Random& random) {
  switch (random() % 8) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<uint64_t>::max() - random() % 3;
    case 2:
      return uint64_t{1} << random() % 64;
    case 3:
      return was - 1 - random() % 4;
    case 4:
      return was ^ uint64_t { 1 } << random() % 64;
    case 5:
      return random() % 64;
    default:
      return was + 1 + random() % 4;
  }
}

// Changes one field somewhere within; an enum or a flag like a number.
void MutateField(Message* message, Random& random) {
  std::vector<const FieldDescriptor*> fields;
  const auto* reflection = message->GetReflection();
  const auto* type = message->GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const bool is_message =
        field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE;
    if (field->is_repeated()
            ? reflection->FieldSize(*message, field) > 0
            : !is_message || reflection->HasField(*message, field)) {
      fields.push_back(field);
    }
  }
  if (fields.empty()) return;
  const FieldDescriptor* field = fields[random() % fields.size()];
  if (field->is_repeated()) {
    const int size = reflection->FieldSize(*message, field);
    const int at = static_cast<int>(random() % size);
    if (random() % 4 == 0) return reflection->RemoveLast(message, field);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) {
      return MutateField(reflection->MutableRepeatedMessage(message, field, at),
                         random);
    }
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      return reflection->SetRepeatedString(
          message, field, at,
          MutateBytes(reflection->GetRepeatedString(*message, field, at),
                      random(), 1 << 20));
    }
    return;
  }
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return MutateField(reflection->MutableMessage(message, field), random);
    case FieldDescriptor::CPPTYPE_STRING:
      return reflection->SetString(
          message, field,
          MutateBytes(reflection->GetString(*message, field), random(),
                      1 << 20));
    case FieldDescriptor::CPPTYPE_UINT64:
      return reflection->SetUInt64(
          message, field,
          Number(reflection->GetUInt64(*message, field), random));
    case FieldDescriptor::CPPTYPE_UINT32:
      return reflection->SetUInt32(
          message, field,
          static_cast<uint32_t>(
              Number(reflection->GetUInt32(*message, field), random)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection->SetBool(message, field,
                                 !reflection->GetBool(*message, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return reflection->SetEnumValue(message, field,
                                      static_cast<int>(random() % 6));
    default:
      return;
  }
}

// A whole message in a place where it does not belong.
std::string AnyMessage(Random& random) {
  const auto& situations = Situations();
  const auto& steps = situations[random() % situations.size()].script.steps;
  if (steps.empty()) return "";
  const Step& step = steps[random() % steps.size()];
  return step.message;
}

void MutateMessage(Step* step, Random& random) {
  if (random() % 8 == 0) {
    step->message = MutateBytes(step->message, random(), 1 << 20);
    return;
  }
  auto frame = replica::DecodeFrame(step->message);
  if (!frame.ok()) return;
  std::string payload(frame->payload);
  if (!payload.empty() && random() % 2 == 0) {
    payload = MutateEntry(payload, random(), 1 << 20);
  } else {
    const uint64_t changes = 1 + random() % 3;
    for (uint64_t i = 0; i < changes; ++i) MutateField(&frame->message, random);
  }
  step->message = replica::EncodeFrameHead(frame->message) + payload;
}

Step NewStep(Random& random) {
  Step step;
  step.kind = static_cast<StepKind>(random() % kStepKinds);
  step.link = static_cast<uint8_t>(1 + random() % 12);
  step.stale = random() % 16 == 0;
  if (step.kind == StepKind::kMessage) {
    step.message = AnyMessage(random);
    if (random() % 2 == 0) MutateMessage(&step, random);
  }
  return step;
}

void MutateOnce(Script* script, Random& random) {
  std::vector<Step>& steps = script->steps;
  if (steps.empty() || random() % 5 == 0) {
    steps.insert(steps.begin() + random() % (steps.size() + 1),
                 NewStep(random));
    return;
  }
  const size_t at = random() % steps.size();
  switch (random() % 8) {
    case 0:
      steps.erase(steps.begin() + at);
      return;
    case 1:
      steps.insert(steps.begin() + at, Step(steps[random() % steps.size()]));
      return;
    case 2:
      std::swap(steps[at], steps[random() % steps.size()]);
      return;
    case 3:
      steps[at].link = static_cast<uint8_t>(1 + random() % 12);
      return;
    case 4:
      script->situation = static_cast<uint8_t>(random());
      return;
    default:
      if (steps[at].kind != StepKind::kMessage) {
        steps[at] = NewStep(random);
      } else {
        MutateMessage(&steps[at], random);
      }
  }
}

}  // namespace

std::string MutateScript(const std::string& input, uint64_t seed, size_t max) {
  Random random(seed);
  Script script = Decode(input);
  const uint64_t changes = 1 + random() % 6;
  for (uint64_t i = 0; i < changes; ++i) MutateOnce(&script, random);
  std::string bytes = Encode(script);
  if (bytes.size() > max) bytes.resize(max);
  return bytes;
}

}  // namespace kamino::fuzz
