/** `{{secret:NAME}}` stands for a secret of the workspace. */
const REFERENCE = /\{\{secret:([A-Za-z]\w{0,63})\}\}/g;

/** The names of the secrets that a text refers to, each once. */
export function secretsIn(text: string): readonly string[] {
  return [...new Set([...text.matchAll(REFERENCE)].map(([, name = '']) => name))];
}

/** The text with each reference replaced by `stand`. */
export function withoutSecrets(text: string, stand: string): string {
  return text.replace(REFERENCE, stand);
}

/**
 * The text with the secrets in their places and everything between them by `between`, in one pass: what comes in as an
 * argument is never read as a reference.
 */
export function fillSecrets(
  text: string,
  secretOf: (name: string) => string,
  between: (text: string) => string,
): string {
  // `split` gives text and the name of the reference after it in turn
  return text
    .split(REFERENCE)
    .map((part, index) => (index % 2 === 0 ? between(part) : secretOf(part)))
    .join('');
}
