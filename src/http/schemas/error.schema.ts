import { z } from 'zod';
import { ERRORS, type ErrorCode } from '../../domain/errors.ts';
import { explanation } from './words.schema.ts';
import { keysOf } from '../../domain/values/keys-of.ts';

const MEANINGS = Object.fromEntries(
  Object.entries(ERRORS).map(([code, { meaning }]) => [code, meaning.replace(/\.$/, '')]),
) as Record<ErrorCode, string>;
const CODES = keysOf(ERRORS);

export const errorBody = z
  .object({
    error: z
      .object({
        code: z.enum(CODES).meta({ description: explanation('Stable name of the error.', MEANINGS, CODES) }),
        message: z.string().meta({ description: 'For people; may change.' }),
        param: z.string().optional().meta({ description: 'The field, header or query parameter at fault.' }),
        request_id: z.string().meta({ description: 'Quote it when you contact support.' }),
        doc_url: z.string().optional().meta({
          description:
            'Explains the code and what to do about it. Absent only if the request was not readable as HTTP.',
          format: 'uri',
        }),
      })
      .meta({ description: 'What is wrong.' }),
  })
  .meta({ id: 'Error' });
