/** A result of 256 KiB may be six times as long as JSON text, every unit of it escaped; and there is more in the body. */
const resultBytes = 6 * 262_144 + 16_384;

/** Routes that take less than the server's limit. */
const smaller: readonly { readonly path: RegExp; readonly bytes: number }[] = [
  { path: /^\/api\/jobs\/[^/]+\/client-tool\/(?:claim|validate)\/?$/i, bytes: 4_096 },
  { path: /^\/api\/jobs\/[^/]+\/client-tool\/result\/?$/i, bytes: resultBytes },
  { path: /^\/api\/workflows\/background\/?$/i, bytes: 262_144 },
  { path: /^\/api\/workflows\/hitl\/?$/i, bytes: resultBytes },
  { path: /^\/hooks\//i, bytes: 1_048_576 },
  { path: /^\/webhook\//i, bytes: 1_048_576 },
  { path: /^\/api\/triggers\/[^/]+\/changes\/?$/i, bytes: 1_048_576 },
];

/** How large a body may be that is sent to this url. */
export function bodyLimitOf(url: string, limitBytes: number): number {
  const path = url.split('?', 1)[0] ?? '';
  const route = smaller.find((candidate) => candidate.path.test(path));
  return route === undefined ? limitBytes : Math.min(route.bytes, limitBytes);
}
