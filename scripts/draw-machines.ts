import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AnyStateMachine } from 'xstate';
import { checkoutSessionMachine } from '../state-machines/checkout-session/session.machine.ts';
import { transferMachine } from '../state-machines/unmatched-transfer/transfer.machine.ts';
import { webhookDeliveryMachine } from '../state-machines/webhook-delivery/delivery.machine.ts';

/*
 * Draws the life cycles from the machines themselves: `node scripts/draw-machines.ts` renews the pictures in README.md
 * and docs/state-machines.md; a test fails when they are out of date.
 */

const root = join(import.meta.dirname, '..');

/**
 * A Mermaid state diagram: every transition that changes the state, labelled with its event and, in brackets, its
 * guard.
 */
export function diagramOf(machine: AnyStateMachine): string {
  const lines = ['stateDiagram-v2', `  [*] --> ${machine.config.initial as string}`];
  for (const [value, node] of Object.entries(machine.root.states)) {
    for (const [event, transitions] of node.transitions) {
      for (const transition of transitions) {
        const target = transition.target?.[0]?.key;
        if (target === undefined || target === value) continue;
        lines.push(
          `  ${value} --> ${target}: ${event}${typeof transition.guard === 'string' ? ` [${transition.guard}]` : ''}`,
        );
      }
    }
  }
  return [...new Set(lines)].join('\n');
}

/** Events that are legal in every state and change only what is remembered. */
export function everywhereOf(machine: AnyStateMachine): string[] {
  return [...machine.root.transitions.keys()];
}

const fenced = (text: string): string => `\`\`\`mermaid\n${text}\n\`\`\``;

/** Replaces what stands between the markers of a name. */
export function withSection(document: string, name: string, content: string): string {
  const [begin, end] = [`<!-- ${name}: drawn by scripts/draw-machines.ts -->`, `<!-- /${name} -->`];
  const from = document.indexOf(begin);
  const to = document.indexOf(end);
  if (from < 0 || to < from) throw new Error(`no section ${name}`);
  return `${document.slice(0, from + begin.length)}\n\n${content}\n\n${document.slice(to)}`;
}

/** The documents with their pictures renewed, by path below the repository. */
export function drawnDocuments(): Record<string, string> {
  const session = fenced(diagramOf(checkoutSessionMachine));
  const delivery = fenced(diagramOf(webhookDeliveryMachine));
  const readme = withSection(readFileSync(join(root, 'README.md'), 'utf8'), 'checkout-session', session);
  const machines = [
    '# Life cycles',
    '',
    'Drawn from the machines in `state-machines/` by `node scripts/draw-machines.ts`. The alphabet of each machine is the domain',
    'events of its stream, so a stored stream that replays without refusal was legal.',
    '',
    '## Checkout session',
    '',
    session,
    '',
    `Legal in every state once the session exists, changing only what it remembers: ${everywhereOf(checkoutSessionMachine).join(', ')}.`,
    '',
    '## Webhook delivery',
    '',
    delivery,
    '',
    '## Transfer that pays no order',
    '',
    fenced(diagramOf(transferMachine)),
    '',
  ].join('\n');
  return { 'README.md': readme, 'docs/state-machines.md': machines };
}

if (import.meta.main) {
  for (const [path, text] of Object.entries(drawnDocuments())) writeFileSync(join(root, path), text);
}
