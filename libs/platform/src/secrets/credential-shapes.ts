/** The range of a text to redact. */
export interface SecretRange {
  /** The beginning of the match. A text is not cut between `from` and `start`, because the prefix of a secret (`Bearer `) marks it as one. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** A line break, literal or escaped as in JSON. */
const BREAK = String.raw`(?:\s|\\[nr])`;
const PEM_LINE = String.raw`Proc-Type: 4,ENCRYPTED|DEK-Info: [A-Z0-9-]{1,40}(?:,[A-F0-9]{1,64})?|[A-Za-z0-9+/]{16,4096}={0,2}`;
/** A private key (RFC 7468), or the beginning of one: only characters that a key can contain, so that no other text is redacted. */
const PEM_KEY = new RegExp(
  `-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----(?:${BREAK}{1,40}(?:${PEM_LINE})){0,400}` +
    `(?:${BREAK}{1,40}[A-Za-z0-9+/]{1,76}={0,2}(?=${BREAK}{1,40}-----END|${BREAK}{0,40}-{0,5}[END]{0,3}$))?` +
    `(?:${BREAK}{0,40}-----END [A-Z ]{0,40}PRIVATE KEY-----)?`,
  'g',
);

/**
 * Each pattern is linear: no repetition can match in two ways, and none can start inside its own continuation. Each is also bounded, because
 * an unbounded repetition throws for megabytes of text. Group 1, if present, is not redacted.
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

/** Endings that make a complete credential from the beginning of one. */
const ENDINGS = ['A'.repeat(64), 'AAAAAAAA.AAAA.', 'A@'];
/** No credential is longer than this, except a key with hundreds of lines. */
const MAX_LENGTH = 32_768;

/** The texts that look like a credential, pattern by pattern. */
export function* credentialsIn(text: string): Generator<SecretRange> {
  for (const shape of SHAPES) {
    for (const { index: from, 0: match, 1: kept = '' } of text.matchAll(shape)) {
      yield { from, start: from + kept.length, end: from + match.length };
    }
  }
}

/** Where a credential may begin that is cut off at the end of the text; the text's length if there is none. */
export function cutCredential(text: string): number {
  const before = Math.max(0, text.length - MAX_LENGTH);
  const tail = text.slice(before);
  const starts = ENDINGS.flatMap((ending) =>
    [...credentialsIn(tail + ending)].filter(({ start, end }) => start < tail.length && end > tail.length),
  );
  return before + Math.min(tail.length, ...starts.map(({ start }) => start));
}
