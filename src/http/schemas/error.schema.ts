import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';

const CODES = Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]];

export const errorBody = z
  .object({
    error: z.object({
      code: z.enum(CODES),
      message: z.string().meta({ description: 'For people; may change.' }),
      param: z.string().optional().meta({ description: 'The field, header or query parameter at fault.' }),
      request_id: z.string().meta({ description: 'Quote it when you ask for help.' }),
    }),
  })
  .meta({ id: 'Error' });

export type ErrorBody = z.output<typeof errorBody>;
