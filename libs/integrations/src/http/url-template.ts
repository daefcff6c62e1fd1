import { ToolArgumentsError } from '#tools';

import { type Arguments, argumentText, fillIn, placeholdersIn, withoutPlaceholders } from './placeholders.js';

/** A URL with placeholders; made by `parseUrlTemplate`. */
export interface UrlTemplate {
  /** Scheme, host and port: the same for all arguments. */
  readonly origin: string;
  readonly host: string;
  /** The segments of the path. */
  readonly segments: readonly string[];
  /** The `name=value` pairs of the query, as written. */
  readonly pairs: readonly string[];
  /** The names of the arguments. */
  readonly names: readonly string[];
}

const MAX_LENGTH = 2_000;

/**
 * Reads a template such as `https://api.example.com/users/{id}?q={query}`. Arguments may occur in segments of the path and in values of the
 * query, nowhere else. Returns a problem as a clause if the template is invalid.
 */
export function parseUrlTemplate(text: string): UrlTemplate | string {
  if (text.length > MAX_LENGTH) return `it is longer than ${MAX_LENGTH} characters`;
  if (/[\s\\#]/.test(text)) return 'it must not contain spaces, backslashes or a fragment';
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
  return segments.some((segment) => isDots(segment)) ? 'its path must not contain "." or ".."' : null;
}

/**
 * Fills in the URL of one call. Each argument is percent-encoded completely, so it changes neither the host nor the number of segments nor
 * the names in the query. A pair with an absent argument is left out. Throws `invalid_arguments` for an argument of the path that is absent,
 * empty, or would lead to another path.
 */
export function fillUrl(template: UrlTemplate, args: Arguments): URL {
  const path = template.segments.map((segment) => `/${fillSegment(segment, args)}`).join('');
  const query = template.pairs.flatMap((pair) =>
    isAbsent(pair, args) ? [] : [fillIn(pair, args, encodeURIComponent)],
  );
  const url = URL.parse(`${template.origin}${path}${query.length === 0 ? '' : `?${query.join('&')}`}`);
  // This check cannot fail for the URL above. If the code above has a fault, it prevents the request.
  if (url?.origin !== template.origin || url.pathname.split('/').length !== template.segments.length + 1) {
    throw new ToolArgumentsError('invalid arguments: they do not fit into the URL');
  }
  return url;
}

function fillSegment(segment: string, args: Arguments): string {
  const filled = fillIn(segment, args, (value, name) => {
    // Some servers decode the path before they split it, so a value with decoded dot segments is rejected too.
    if (value.split(/[/\\]/).some(isDots)) throw unfit(name, 'must not contain "." or ".." as a part of a path');
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

/** Whether a URL parser treats the segment as `.` or `..` (WHATWG URL, single- and double-dot URL path segments). */
function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment);
}

function unfit(name: string, problem: string): ToolArgumentsError {
  return new ToolArgumentsError(`invalid arguments: "${name}" ${problem}`);
}
