import type { NodeData } from '../definition/node-types.js';

/** How a text came to be. */
export interface OutputMetadata {
  /** Ids of the nodes before, in execution order. */
  readonly nodeChain: readonly string[];
  /** ISO 8601. */
  readonly timestamp: string;
}

/** A text in the format of an output node, with what is known of it where that is wanted. */
export function formatOutput(
  text: string,
  format: NodeData['output']['format'],
  metadata: OutputMetadata | null,
): string {
  switch (format) {
    case 'json':
      return toJson(text, metadata);
    case 'markdown':
      if (metadata === null) return text;
      return `---\nnodeChain: [${metadata.nodeChain.join(', ')}]\ntimestamp: ${metadata.timestamp}\n---\n\n${text}`;
    case 'text':
      if (metadata === null) return text;
      return `[Executed: ${metadata.nodeChain.join(' → ')}]\n[Time: ${metadata.timestamp}]\n\n${text}`;
  }
}

function toJson(text: string, metadata: OutputMetadata | null): string {
  const wrapped = (result: unknown): string =>
    JSON.stringify({ result, ...(metadata === null ? {} : { metadata }) }, null, 2);
  try {
    const value: unknown = JSON.parse(text);
    return metadata === null ? JSON.stringify(value, null, 2) : wrapped(value);
  } catch {
    return wrapped(text); // no JSON, or nested deeper than can be written
  }
}
