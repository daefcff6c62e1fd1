import { ToolArgumentsError } from '#tools';

import { type Arguments, argumentText, fillIn, placeholdersIn, withoutPlaceholders } from './placeholders.js';

/** A URL with arguments in it; made by `parseUrlTemplate`. */
export interface UrlTemplate {
  /** Scheme, host and port: the same for all arguments. */
  readonly origin: string;
  readonly host: string;
  /** What stands between the slashes of the path. */
  readonly segments: readonly string[];
  /** `name=value` pairs of the query, as they are written. */
  readonly pairs: readonly string[];
  /** The arguments it names. */
  readonly names: readonly string[];
}

const LONGEST = 2_000;

/**
 * Reads a template such as `https://api.example.com/users/{id}?q={query}`. Arguments may occur in segments of the path and in
 * values of the query, nowhere else. Gives the problem as a clause when it cannot be used.
 */
export function parseUrlTemplate(text: string): UrlTemplate | string {
  if (text.length > LONGEST) return `it is longer than ${LONGEST} characters`;
  if (/[\s\\#]/.test(text)) return 'it must not hold spaces, backslashes or a fragment';
  const parts = /^(https?:\/\/[^/?]+)([^?]*)(?:\?(.*))?$/i.exec(text);
  const [, authority = '', path = '', query = ''] = parts ?? [];
  if (parts === null) return 'it must begin with https:// or http:// and a host';
  if (/[{}@]/.test(authority)) return 'its host is fixed: no arguments, names or passwords before the path';
  const base = URL.parse(authority);
  if (base === null) return 'it is not a URL';
  const segments = path === '' ? [''] : path.slice(1).split('/');
  const pairs = query === '' ? [] : query.split('&');
  const problem = problemOf(segments, pairs);
  if (problem !== null) return problem;
  return { origin: base.origin, host: base.host, segments, pairs, names: placeholdersIn(path + query) };
}

function problemOf(segments: readonly string[], pairs: readonly string[]): string | null {
  if (pairs.some((pair) => placeholdersIn(pair.split('=', 1)[0] ?? '').length > 0)) {
    return 'names in its query are fixed: arguments are values only';
  }
  if ([...segments, ...pairs].some((part) => /[{}]/.test(withoutPlaceholders(part, '')))) {
    return 'it has braces that name no argument';
  }
  return segments.some((segment) => isDots(segment)) ? 'its path must not hold "." or ".."' : null;
}

/**
 * The URL of one call. Each argument is percent-encoded as a whole, so it changes neither host nor the number of segments nor
 * the names of the query; a pair whose argument is absent is left out. Throws `invalid_arguments` for one that the path needs
 * and that is absent, empty, or would lead somewhere else.
 */
export function fillUrl(template: UrlTemplate, args: Arguments): URL {
  const path = template.segments.map((segment) => `/${fillSegment(segment, args)}`).join('');
  const query = template.pairs.flatMap((pair) =>
    isAbsent(pair, args) ? [] : [fillIn(pair, args, encodeURIComponent)],
  );
  const url = URL.parse(`${template.origin}${path}${query.length === 0 ? '' : `?${query.join('&')}`}`);
  // What is built above cannot get here; a fault in it must not send anything.
  if (url?.origin !== template.origin || url.pathname.split('/').length !== template.segments.length + 1) {
    throw new ToolArgumentsError('invalid arguments: they do not fit into the URL');
  }
  return url;
}

function fillSegment(segment: string, args: Arguments): string {
  const filled = fillIn(segment, args, (value, name) => {
    // Some servers decode before they split: what climbs when decoded is refused, too.
    if (value.split(/[/\\]/).some(isDots)) throw unfit(name, 'must not hold "." or ".." as a part of a path');
    return encodeURIComponent(value);
  });
  const [name] = placeholdersIn(segment).filter((one) => (argumentText(args, one) ?? '') === '');
  if (name !== undefined) throw unfit(name, 'is needed for the URL and must not be empty');
  if (isDots(filled)) throw unfit(placeholdersIn(segment)[0] ?? '', 'must not lead to another path');
  return filled;
}

function isAbsent(pair: string, args: Arguments): boolean {
  return placeholdersIn(pair).some((name) => argumentText(args, name) === null);
}

/** What a URL parser takes for "here" or "one up" (WHATWG URL, single- and double-dot URL path segments). */
function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

function unfit(name: string, problem: string): ToolArgumentsError {
  return new ToolArgumentsError(`invalid arguments: "${name}" ${problem}`);
}
