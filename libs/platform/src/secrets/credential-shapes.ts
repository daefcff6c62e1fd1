/** Where something stands that is to be taken out of a text. */
export interface SecretRange {
  /** Where the match begins; a text is not cut after it, because what introduces a secret (`Bearer `) gives it away. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** A line break, as it is or as JSON writes it. */
const BREAK = String.raw`(?:\s|\\[nr])`;
const PEM_LINE = String.raw`Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,40}(?:,[A-F0-9]{1,64})?|[A-Za-z0-9+/]{16,4096}={0,2}`;
/** A private key by RFC 7468, or the first part of one: only characters that a key can contain, so that no other text is redacted. */
const PEM_KEY = new RegExp(
  `-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:${BREAK}{1,40}(?:${PEM_LINE})){0,400}` +
    `(?:${BREAK}{1,40}[A-Za-z0-9+/]{1,76}={0,2}(?=${BREAK}{1,40}-----END|${BREAK}{0,40}-{0,5}[END]{0,3}$))?` +
    `(?:${BREAK}{0,40}-----END [A-Z ]{0,40}PRIVATE KEY-----)?`,
  'g',
);

/**
 * Each is linear: no repetition can match in two ways, and none can start inside its own continuation. Each is bounded,
 * too: a repetition without end throws on megabytes. Group 1, where there is one, is kept.
 */
const SHAPES: readonly RegExp[] = [
  /\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,8192}/g,
  /\b(?:nsk|ghp|gho|ghu|ghs|ghr|github_pat|glpat|hf|gsk|xai|whsec)[-_][A-Za-z0-9_+/=-]{16,8192}/g,
  /\bxox[abeprs]-[A-Za-z0-9-]{10,8192}/g,
  /\b(?:AKIA|ASIA)[A-Z0-9]{16}\b/g,
  /\bAIza[A-Za-z0-9_-]{30,8192}/g,
  /(?<![\w-])eyJ[A-Za-z0-9_-]{8,8192}\.[A-Za-z0-9_-]{4,8192}\.[A-Za-z0-9_-]{0,8192}/g,
  /\b(Bearer\s)[A-Za-z0-9._~+/=-]{8,8192}/gi,
  /\b(Basic\s)[A-Za-z0-9+/=]{16,8192}/g,
  /((?:api[-_]?key|password|secret)["']?\s?[:=]\s?["']?)[^\s"',;&}]{8,8192}/gi,
  /(:\/\/[^\s/:@]{0,64}:)[^\s/@]{1,128}(?=@)/g,
  PEM_KEY,
];

/** What would make a whole credential of the first part of one. */
const ENDINGS = ['A'.repeat(64), 'AAAAAAAA.AAAA.', 'A@'];
/** No shape of a credential is longer than this, but for a key with hundreds of lines. */
const LONGEST = 32_768;

/** What looks like a credential, shape by shape. */
export function* credentialsIn(text: string): Generator<SecretRange> {
  for (const shape of SHAPES) {
    for (const { index: from, 0: match, 1: kept = '' } of text.matchAll(shape)) {
      yield { from, start: from + kept.length, end: from + match.length };
    }
  }
}

/** Where a credential may begin that the end of the text cuts in two; the text's length: nowhere. */
export function cutCredential(text: string): number {
  const before = Math.max(0, text.length - LONGEST);
  const tail = text.slice(before);
  const starts = ENDINGS.flatMap((ending) =>
    [...credentialsIn(tail + ending)].filter(({ start, end }) => start < tail.length && end > tail.length),
  );
  return before + Math.min(tail.length, ...starts.map(({ start }) => start));
}
