import type { DomainEventType } from './events/domain-event.ts';

/**
 * Turns the data of one version of an event type into the data of the next version. Pure; it may only add what is
 * derivable.
 */
export type Upcaster = (data: unknown) => unknown;

/**
 * Per event type, the upcaster to apply to data of a version to reach the next one. Versions are never removed from
 * this table: events of every shipped version decode forever. Only the codec calls it.
 */
export const UPCASTERS: { readonly [Type in DomainEventType]?: Readonly<Record<number, Upcaster>> } = {};
