import { defineEnum } from '#platform/api';

import type { ToolEventFormat } from '../../input/agent.js';

/** The values are those of the header `X-Tool-Event-Format`. */
export const ToolEventFormatEnum = defineEnum(
  'ToolEventFormat',
  'How a response shows calls of server tools to OpenAI clients. More values may be added.',
  {
    INLINE: ['inline', 'As `<tool>` lines in the text.'],
    OPEN_WEBUI: ['open-webui', 'As blocks that Open WebUI renders.'],
    NONE: ['none', 'Not at all: the text is that of the model only.'],
  },
) satisfies Record<string, ToolEventFormat>;
