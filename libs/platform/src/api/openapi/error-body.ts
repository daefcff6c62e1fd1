import { z } from 'zod';

/** The error body of the routes under `/api`. */
export const errorBody = z.looseObject({
  error: z.string().meta({ description: 'A sentence for people.' }),
  code: z.string().meta({ description: 'For programs; PROTOCOL.md lists all there are.' }),
  requestId: z.string(),
  field: z.string().optional().meta({ description: 'What of the request is at fault.' }),
});
