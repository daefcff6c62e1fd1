import type { Model, ModelPart, RequestedCall } from './model.js';

/**
 * A model whose calls hold no secret that we know: what it asks for is what is kept, shown to people and run, so a secret that
 * got into a conversation leaves it by no tool. `redact` takes known secrets out of a text and leaves all else as it is.
 */
export function withoutSecrets(model: Model, redact: (text: string) => string): Model {
  return {
    async *stream(request, signal) {
      for await (const parts of model.stream(request, signal)) yield parts.map((part) => cleanPart(part, redact));
    },
  };
}

function cleanPart(part: ModelPart, redact: (text: string) => string): ModelPart {
  if (part.type !== 'tool-calls') return part;
  const calls = part.calls.map((call): RequestedCall => ({ ...call, arguments: cleanJson(call.arguments, redact) }));
  return { type: 'tool-calls', calls };
}

/** A secret may be spelled with escapes, which only its parsed text shows; text without one stays as the model wrote it. */
function cleanJson(text: string, redact: (text: string) => string): string {
  const shown = redact(text);
  try {
    const found: string[] = [];
    const value: unknown = JSON.parse(shown, (_, member: unknown) => {
      if (typeof member !== 'string') return member;
      const clean = redact(member);
      if (clean !== member) found.push(clean);
      return clean;
    });
    return found.length > 0 ? JSON.stringify(value) : shown;
  } catch {
    return shown; // not JSON: it will not run
  }
}
