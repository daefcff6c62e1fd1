import { registerEnumType } from '@nestjs/graphql';

import type { DiagramFormat } from '../state/workflow-diagrams.js';

/** How a workflow is drawn. */
export const DiagramFormatEnum = { MERMAID: 'mermaid', SVG: 'svg' } as const satisfies Record<
  Uppercase<DiagramFormat>,
  DiagramFormat
>;

registerEnumType(DiagramFormatEnum, {
  name: 'DiagramFormat',
  description: 'The format of a workflow diagram.',
  valuesMap: {
    MERMAID: { description: 'The text of a Mermaid flowchart.' },
    SVG: { description: 'An SVG document without scripts and links.' },
  },
});
