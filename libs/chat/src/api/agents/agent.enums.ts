import { registerEnumType } from '@nestjs/graphql';

import type { ToolEventFormat } from '../../agent.js';

/** Values are those of the header `X-Tool-Event-Format`. */
export const ToolEventFormatEnum = {
  INLINE: 'inline',
  OPEN_WEBUI: 'open-webui',
  NONE: 'none',
} as const satisfies Record<string, ToolEventFormat>;

registerEnumType(ToolEventFormatEnum, {
  name: 'ToolEventFormat',
  description: 'How an answer shows calls of server tools to OpenAI clients. More values may be added.',
  valuesMap: {
    INLINE: { description: 'As `<tool>` lines in the text.' },
    OPEN_WEBUI: { description: 'As blocks that Open WebUI renders.' },
    NONE: { description: 'Not at all: the text is that of the model only.' },
  },
});
