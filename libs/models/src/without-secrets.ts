import type { TextRedactor } from '#platform';

import type { Model, ModelPart, RequestedCall } from './model.js';

/**
 * A model whose text, reasoning and calls have all known secrets redacted, before they are stored, shown or run: a secret in a
 * conversation cannot leak through a response or a tool. A possible beginning of a secret is buffered until the next part. All
 * other text is unchanged.
 */
export function withoutSecrets(model: Model, redactor: Pick<TextRedactor, 'redactKnown' | 'knownStream'>): Model {
  return {
    async *stream(request, signal) {
      const streams = { text: redactor.knownStream(), reasoning: redactor.knownStream() };
      for await (const parts of model.stream(request, signal)) {
        const clean = parts.flatMap((part): readonly ModelPart[] => {
          switch (part.type) {
            case 'text':
            case 'reasoning':
              return toParts(part.type, streams[part.type].push(part.text));
            case 'tool-calls':
            case 'finish':
              return [
                ...toParts('reasoning', streams.reasoning.end()),
                ...toParts('text', streams.text.end()),
                part.type === 'finish' ? part : cleanCalls(part, (text) => redactor.redactKnown(text)),
              ];
          }
        });
        if (clean.length > 0) yield clean;
      }
    },
  };
}

function toParts(type: 'text' | 'reasoning', text: string): readonly ModelPart[] {
  return text === '' ? [] : [{ type, text }];
}

function cleanCalls(
  { calls }: Extract<ModelPart, { type: 'tool-calls' }>,
  redact: (text: string) => string,
): Extract<ModelPart, { type: 'tool-calls' }> {
  const clean = calls.map((call): RequestedCall => ({
    ...call,
    name: redact(call.name),
    arguments: cleanJson(call.arguments, redact),
  }));
  return { type: 'tool-calls', calls: clean };
}

/**
 * A secret may be spelled with escapes that only its parsed text shows; text without one stays as the model wrote it, and so do
 * the numbers beside one.
 */
function cleanJson(text: string, redact: (text: string) => string): string {
  const shown = redact(text);
  try {
    const found: string[] = [];
    const value: unknown = JSON.parse(shown, (_, member: unknown, context?: { readonly source?: string }) => {
      if (typeof member === 'number' && context?.source !== undefined) return rawJson(context.source);
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

/** Represents a value by its JSON text (ECMAScript 2026, `JSON.rawJSON`; not in the types yet). */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}
