import { DecodedText } from './decoded-text.js';

/** Below this a "secret" is a word of ordinary text, and marking it would only garble. */
export const SHORTEST_KNOWN = 8;

/** What to look for in the place of a secret. */
export interface SecretForms {
  /** In a text, and in the same with its escapes read (`DecodedText`). */
  readonly texts: readonly string[];
  /** In the hexadecimal digits of a text (`hexRuns`). */
  readonly hex: readonly string[];
}

/**
 * The forms in which a text is likely to come back from where it was sent: as it is, with escapes of any kind and depth, in a
 * form, in hexadecimal, in Base64 on its own or with something around it, as in `user:secret` of Basic credentials. Without
 * those that are too short.
 */
export function formsOf(value: string): SecretForms {
  const plain = [value, DecodedText.of(value)?.value ?? value, value.replaceAll('\\', '')];
  const forms = plain.map((form) => form.replaceAll(' ', '+'));
  const texts = new Set([...plain, ...forms, ...base64Forms(value)]);
  return {
    texts: [...texts].filter((form) => form.length >= SHORTEST_KNOWN),
    hex: [Buffer.from(value).toString('hex')],
  };
}

/** By how many bytes stand before it, modulo 3: the first characters that those have a say in. */
const SHARED = [0, 2, 3];

/** Base64 packs three bytes into four characters: the same bytes read in three ways, by where they begin. */
function base64Forms(value: string): readonly string[] {
  const bytes = Buffer.from(value);
  return SHARED.flatMap((shared, before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    const atTheEnd = encoded.slice(shared);
    const isWhole = (before + bytes.length) % 3 === 0;
    const forms = isWhole ? [atTheEnd] : [atTheEnd, atTheEnd.slice(0, -1)];
    return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
  });
}
