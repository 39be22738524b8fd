import type { DomainEventType } from './events/domain-event.ts';

/** Converts the data of one version of an event type to the next version. Pure; may only add what can be derived. */
export type Upcaster = (data: unknown) => unknown;

/**
 * Per event type, the upcaster to apply to data of a version to reach the next one. Versions are never removed from
 * this table: events of every released version stay decodable. Only the codec calls it.
 */
export const UPCASTERS: { readonly [Type in DomainEventType]?: Readonly<Record<number, Upcaster>> } = {};
