from ostinato.integrations.optuna import OstinatoSampler, recommend

__all__ = ["OstinatoSampler", "recommend"]
