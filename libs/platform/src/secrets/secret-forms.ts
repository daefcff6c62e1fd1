/** Below this a "secret" is a word of ordinary text, and marking it would only garble. */
export const SHORTEST_KNOWN = 8;

/**
 * The forms in which a text is likely to come back from whoever it was sent to: as it is, in JSON, in a URL or a form, in
 * Base64 on its own or with something around it, as in `user:secret` of Basic credentials. Without those that are too short.
 */
export function formsOf(value: string): readonly string[] {
  const forms = new Set([value, ...jsonForms(value), ...urlForms(value), ...base64Forms(value)]);
  return [...forms].filter((form) => form.length >= SHORTEST_KNOWN);
}

/** As JSON is written by most; with `/` escaped and in ASCII only (PHP, Python); without what is special in HTML (Go). */
function jsonForms(value: string): readonly string[] {
  const json = JSON.stringify(value).slice(1, -1);
  const ascii = json.replace(/[\u007f-\uffff]/g, escaped);
  const plain = [json, ascii, json.replace(/[<>&]/g, escaped)];
  return [...plain, ...plain.map((form) => form.replaceAll('/', String.raw`\/`))];
}

function escaped(unit: string): string {
  return String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

/** Percent-encoded as a component, strictly (RFC 3986), as part of a path, and as a form, with `+` for a space; `%2F` and `%2f`. */
function urlForms(value: string): readonly string[] {
  const wellFormed = value.toWellFormed();
  const component = encodeURIComponent(wellFormed);
  const strict = component.replace(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);
  const form = new URLSearchParams([['', wellFormed]]).toString().slice('='.length);
  const upper = [component, strict, component.replaceAll('%2F', '/'), form];
  return [...upper, ...upper.map((text) => text.replace(/%[0-9A-F]{2}/g, (code) => code.toLowerCase()))];
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
