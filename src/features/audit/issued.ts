import type { DocumentIssued, StatementIssued } from '../../domain/events/document-events.ts';
import { toSec } from '../../ports/clock.ts';
import type { RecordedEvent } from '../../ports/event-log/event-store.ts';
import type { JsonValue } from '../../ports/read-model/read-model.ts';
import { parseJson } from '../../runtime/util/parse-json.ts';

type Issued = DocumentIssued['data'] | StatementIssued['data'];

const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** The fields of an event as evidence shows them: names in snake case, values unchanged. */
function shownFields(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return (value as readonly JsonValue[]).map(shownFields);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [snakeCase(name), shownFields(each)]));
}

/** The event part of the evidence for an issued document. */
export const shownEvent = ({ id, type, atMs, data }: Pick<RecordedEvent, 'id' | 'type' | 'atMs' | 'data'>) => ({
  ...(shownFields(parseJson(data)) as unknown as { readonly [Name in keyof Issued]: JsonValue }),
  ...{ type, event: id, recorded_at: toSec(atMs) },
});
