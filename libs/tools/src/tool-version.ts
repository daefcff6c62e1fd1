import { createHash } from 'node:crypto';

import { canonicalJson } from './canonical-json.js';
import type { JsonSchema } from './tool.js';

/** A short fingerprint of the definition of a tool that the model reads, 16 hexadecimal digits: equal definitions have equal fingerprints. */
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
