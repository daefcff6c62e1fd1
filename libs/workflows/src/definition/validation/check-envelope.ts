import { extentOf, memberOf } from '../json.js';
import { LIMITS } from '../limits.js';
import type { IssueList } from './issue.js';

/** Checks the size and the version of the document, which needs no parsing. Returns false if validation must stop here. */
export function checkEnvelope(json: unknown, issues: IssueList): boolean {
  const { depth, values } = extentOf(json, LIMITS.jsonDepth);
  if (depth > LIMITS.jsonDepth)
    issues.error('LIMIT_EXCEEDED', { path: [] }, `The document is nested deeper than ${LIMITS.jsonDepth} levels.`);
  else if (bytesOf(json) > LIMITS.documentBytes)
    issues.error('LIMIT_EXCEEDED', { path: [] }, `The document is larger than ${LIMITS.documentBytes} bytes.`);
  else {
    checkCount(json, 'nodes', issues);
    checkCount(json, 'edges', issues);
    checkVersion(memberOf(memberOf(json, 'meta'), 'version'), issues);
    if (issues.errors.length === 0 && values > LIMITS.values)
      issues.error('LIMIT_EXCEEDED', { path: [] }, `The document has more than ${LIMITS.values} values.`);
  }
  return issues.errors.length === 0;
}

function bytesOf(json: unknown): number {
  const text: unknown = JSON.stringify(json); // undefined for a value that JSON cannot express
  return typeof text === 'string' ? Buffer.byteLength(text) : 0;
}

function checkCount(json: unknown, name: 'nodes' | 'edges', issues: IssueList): void {
  const list = memberOf(json, name);
  if (!Array.isArray(list) || list.length <= LIMITS[name]) return;
  const message = `The workflow has ${list.length} ${name}, and ${LIMITS[name]} are allowed. Move parts of it into subflows.`;
  issues.error('LIMIT_EXCEEDED', { path: [name] }, message);
}

function checkVersion(version: unknown, issues: IssueList): void {
  if (typeof version !== 'string' || /^2(\.|$)/.test(version)) return;
  const message = `Version "${version.slice(0, 50)}" of the format is not supported; this server reads 2.x.`;
  issues.error('UNSUPPORTED_VERSION', { path: ['meta', 'version'] }, message);
}
