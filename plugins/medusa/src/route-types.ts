import type { Scope } from './scope.ts';

export interface Asked {
  readonly scope: Scope;
  readonly params: { readonly id: string };
  readonly body?: { readonly acknowledge_sender?: unknown };
}

export interface Answer {
  json(body: object): unknown;
}
