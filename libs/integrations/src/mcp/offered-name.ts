import { createHash } from 'node:crypto';

const MAX_NAME_LENGTH = 64;
const MARK_DIGITS = 8;

/**
 * The name under which a server's tool is offered. It is `server.tool` if that is a valid tool name (1 to 64 of letters, digits, `_`, `-` and
 * `.`). Otherwise each invalid character becomes `_`, the name is cut, and the first digits of the SHA-256 of the tool's own name are
 * appended, so that different tools have different names and the same tool always has the same name.
 */
export function offeredName(server: string, tool: string): string {
  const plain = `${server}.${tool}`;
  if (plain.length <= MAX_NAME_LENGTH && /^[\w.-]+$/.test(plain)) return plain;
  const mark = `-${createHash('sha256').update(tool).digest('hex').slice(0, MARK_DIGITS)}`;
  return plain.replace(/[^\w.-]/gu, '_').slice(0, MAX_NAME_LENGTH - mark.length) + mark;
}
