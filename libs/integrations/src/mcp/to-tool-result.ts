import type { CallToolResult, ContentBlock } from '@modelcontextprotocol/client';

/** The tool ran and reports that it failed; the message is its text. */
export class McpToolFailed extends Error {
  override readonly name = 'McpToolFailed';
}

/**
 * What a model gets of a tool's answer (MCP, tools, 2025-11-25 and 2026-07-28). The structured content where the accepted
 * definition has an output schema; else the content as text, a blank line between its parts, and the structured content only
 * when it has no text. Text of any kind is stored whole; images, sound and other bytes become one line with type and size.
 * Throws `McpToolFailed` for `isError`.
 */
export function toToolResult(result: CallToolResult, hasOutputSchema: boolean): unknown {
  const { content, structuredContent, isError } = result;
  const text = content.map(textOf).join('\n\n');
  if (isError === true) throw new McpToolFailed(text === '' ? 'the tool failed without a reason' : text);
  if (structuredContent !== undefined && (hasOutputSchema || text === '')) return structuredContent;
  return text;
}

function textOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return block.text;
    case 'image':
    case 'audio':
      return `[${block.type}: ${word(block.mimeType)}, ${bytesOf(block.data)} bytes, not shown]`;
    case 'resource_link': {
      const { name, title, uri, mimeType, size, description } = block;
      const facts = [word(title ?? name), word(uri), word(mimeType), size === undefined ? '' : `${size} bytes`];
      const line = `[resource link: ${facts.filter((fact) => fact !== '').join(', ')}]`;
      return description === undefined ? line : `${line}\n${description}`;
    }
    case 'resource': {
      const { resource } = block;
      const facts = [word(resource.uri), word(resource.mimeType)].filter((fact) => fact !== '').join(', ');
      if ('text' in resource) return `[resource: ${facts}]\n${resource.text}`;
      return `[resource: ${facts}, ${bytesOf(resource.blob)} bytes, not shown]`;
    }
  }
}

const LONGEST_WORD = 500;

/** A name on one line, so that it cannot look like more than it is. */
function word(text: string | undefined): string {
  return (text ?? '')
    .replace(/[\p{Cc}[\]]+/gu, ' ')
    .trim()
    .slice(0, LONGEST_WORD);
}

/** How many bytes base64 text stands for. */
function bytesOf(base64: string): number {
  return Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
}
