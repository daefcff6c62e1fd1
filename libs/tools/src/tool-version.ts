import { createHash } from 'node:crypto';

import { canonicalJson } from './canonical-json.js';
import type { JsonSchema } from './tool.js';

/** A short fingerprint of what a model is shown of a tool: equal for equal definitions, 16 hexadecimal digits. */
export function toolVersion(shown: {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}): string {
  const { name, description, parameters } = shown;
  return createHash('sha256')
    .update(canonicalJson([name, description, parameters]))
    .digest('hex')
    .slice(0, 16);
}
