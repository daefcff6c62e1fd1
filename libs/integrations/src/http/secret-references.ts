/** `{{secret:NAME}}` refers to a secret of the workspace. */
const REFERENCE = /\{\{secret:([A-Za-z]\w{0,63})\}\}/g;

/** The names of the secrets in a text, each once. */
export function secretsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(REFERENCE)].map(([, name = '']) => name))];
}

/** Replaces each reference by `stand`. */
export function withoutSecrets(text: string, stand: string): string {
  return text.replace(REFERENCE, stand);
}

/**
 * Inserts the secrets, and passes the text between them through `between`, in one pass, so that a reference in an argument is not resolved.
 */
export function fillSecrets(
  text: string,
  secretOf: (name: string) => string,
  between: (text: string) => string,
): string {
  // `split` returns texts and names of references alternately
  return text
    .split(REFERENCE)
    .map((part, index) => (index % 2 === 0 ? between(part) : secretOf(part)))
    .join('');
}
