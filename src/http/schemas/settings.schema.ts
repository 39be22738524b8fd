import { z } from 'zod';
import { SETTINGS_TYPES } from '../../domain/notifications/types.ts';
import { type SETTING_KINDS, type SettingsNotice } from '../../domain/notifications/settings-notices.ts';
import { createdAt, eventId, typesOf } from './event-types.schema.ts';
import { enumeration, text, unixSeconds } from './words.schema.ts';

const SETTINGS = {
  webhook_endpoint: 'where you are told what happened',
  policy: 'how payments are judged',
  settlement_address: 'where settlements go',
  change_delay: 'how long changes are delayed',
} as const satisfies Record<(typeof SETTING_KINDS)[number], string>;

const STATUSES = {
  changed: 'it is in force',
  scheduled: 'it is delayed, and takes effect by itself',
  withdrawn: 'it was withdrawn before it took effect',
  refused: 'it was no longer valid when its time came',
} as const satisfies Record<SettingsNotice['status'], string>;

const ABOUT = 'Subject of the event.';

const setting = enumeration('The setting that changes.', SETTINGS);
const change = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(z.string())]))
  .meta({
    description: 'The new values, under their API names.',
    examples: [{ url: 'https://new.example/webhooks' }],
  });
const changeId = text('Id of the change, used to withdraw it.');
const takesEffectAt = unixSeconds.meta({ description: 'When it takes effect, or did, Unix seconds.' });

/** Body of a webhook about the merchant's settings. */
export const settingsEvent = z
  .object({
    id: eventId,
    type: typesOf(SETTINGS_TYPES),
    created_at: createdAt,
    data: z
      .object({
        object: z
          .looseObject({
            setting,
            status: enumeration('Outcome.', STATUSES),
            change_id: changeId.nullable(),
            takes_effect_at: takesEffectAt,
            changed_by: enumeration('Who requested it.', {
              merchant: 'one of your keys',
              operator: 'the operator of this service',
            }),
            change,
            refusal: text('Why it was no longer valid.').optional(),
          })
          .meta({ description: ABOUT }),
      })
      .meta({ description: ABOUT }),
  })
  .meta({ id: 'SettingsEvent' });

export const pendingChange = z
  .object({
    id: changeId,
    setting,
    change,
    requested_at: unixSeconds.meta({ description: 'When it was requested, Unix seconds.' }),
    takes_effect_at: takesEffectAt,
  })
  .meta({ id: 'PendingChange' });

export const pendingChanges = z.object({
  data: z.array(pendingChange).meta({ description: 'Pending changes, in the order requested.' }),
});

export type PendingChangeBody = z.output<typeof pendingChange>;
