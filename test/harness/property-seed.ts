import fc from 'fast-check';

declare const propertySeed: number;

// A change is judged by the same inputs wherever it is tested; PROPERTY_SEED=<number> explores others.
fc.configureGlobal({ seed: propertySeed });
