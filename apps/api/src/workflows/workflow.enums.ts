import { registerEnumType } from '@nestjs/graphql';

import type { DiagramFormat } from '#workflows';

/** How a workflow is drawn. */
export const DiagramFormatEnum = { MERMAID: 'mermaid', SVG: 'svg' } as const satisfies Record<
  Uppercase<DiagramFormat>,
  DiagramFormat
>;

registerEnumType(DiagramFormatEnum, {
  name: 'DiagramFormat',
  description: 'How a workflow is drawn.',
  valuesMap: {
    MERMAID: { description: 'The text of a Mermaid flowchart.' },
    SVG: { description: 'A picture, as the text of an SVG document without scripts or links.' },
  },
});
