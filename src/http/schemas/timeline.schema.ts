import { z } from 'zod';
import { network, unixSeconds } from './words.schema.ts';

const timelineEntry = z
  .object({
    at: unixSeconds,
    type: z.string().meta({ description: 'Name of the event in the ledger.', examples: ['DepositDetected'] }),
    message: z.string(),
    facts: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])),
  })
  .meta({ id: 'TimelineEntry' });

const coveredRange = z
  .object({
    network,
    from_block: z.int(),
    to_block: z.int(),
    to_time: unixSeconds,
    providers: z.array(z.string()),
    gaps: z.array(z.object({ from_block: z.int(), to_block: z.int() })).meta({ description: 'Blocks in between that no recorded reading covers.' }),
  })
  .meta({ id: 'CoveredRange' });

export const timelineOf = z
  .object({
    session_id: z.string(),
    conclusion: z.string().meta({ description: 'Why the session is, or is not, paid.' }),
    entries: z.array(timelineEntry).meta({ description: 'Every observation and decision, oldest first.' }),
    read_to: z.array(z.object({ network, time: unixSeconds.nullable() })).meta({
      description:
        'Chain time up to which every transfer to the session is known, by network; null before anything was read. Old sessions are read ever less often.',
    }),
    coverage: z.array(coveredRange).meta({ description: 'What was read of each network while the session could be paid, and by which provider.' }),
  })
  .meta({ id: 'Timeline' });

export type TimelineBody = z.output<typeof timelineOf>;
