"""The Yahoo Streaming Benchmark: how often the ads of each campaign are viewed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from elastream.jobs.job import Result, Stream, jobs
from elastream.jobs.windows import bounds, bucket
from elastream.registry import setting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@jobs.register("yahoo")
@dataclass(frozen=True, kw_only=True)
class Yahoo:
    """Ad events in JSON: views are kept, their ads joined to campaigns, and counted in windows of ten seconds.

    The campaigns are a table of the job, as in Daedalus: the benchmark's Redis would be the bottleneck.
    """

    campaigns: int = setting(100, doc="how many")
    ads_per_campaign: int = setting(10, doc="ads of each campaign")
    window: str = setting("10 seconds", doc="length of a window")
    watermark: str = setting("10 seconds", doc="how late a view may come")

    result: ClassVar[Result] = Result(is_final=True)

    @property
    def streams(self) -> tuple[Stream, ...]:
        """One."""
        options = {"campaigns": str(self.campaigns), "adsPerCampaign": str(self.ads_per_campaign)}
        sound = "ad_id IS NOT NULL AND event_type IS NOT NULL"
        return (Stream(name="ads", generator="ads", options=options, is_json=True, sound=sound),)

    def query(self, streams: Mapping[str, DataFrame]) -> DataFrame:
        """What is not needed is left out before the window; the table is small and goes to everybody."""
        from pyspark.sql import functions as sf

        ads = streams["ads"].withWatermark("event_time", self.watermark)
        # Spark moves a condition below the watermark, which would then wait for views; below a count it does not.
        counted = ads.observe("views", sf.count_if(sf.col("event_type") == "view").alias("rows"))
        views = counted.where("event_type = 'view'").select("event_time", "ad_id")
        joined = views.join(sf.broadcast(self._campaigns(ads.sparkSession)), "ad_id")
        totals = joined.groupBy(sf.window("event_time", self.window), "campaign_id").count()
        return totals.select("campaign_id", *bounds(), "count")

    def _campaigns(self, spark: SparkSession) -> DataFrame:
        """Names are MD5 sums of numbers; ads go round the campaigns. One partition: a task for a thousand rows."""
        numbers = spark.range(0, self.campaigns * self.ads_per_campaign, 1, 1)
        return numbers.selectExpr(
            "md5(concat('ad ', id)) AS ad_id", f"md5(concat('campaign ', id % {self.campaigns})) AS campaign_id"
        )

    @property
    def answer(self) -> str:
        """Per campaign, whatever its ads."""
        return f"""
            WITH owned AS (
                SELECT md5('campaign ' || c) AS campaign_id, md5('ad ' || (a * {self.campaigns} + c)) AS ad_id
                FROM range({self.campaigns}) AS campaigns(c), range({self.ads_per_campaign}) AS its_ads(a)
            )
            SELECT campaign_id, {bucket(self.window)} AS window_start,
                   window_start + INTERVAL '{self.window}' AS window_end, count(*) AS count,
                   min(event_time) AS first_time, max(event_time) AS last_time
            FROM ads JOIN owned USING (ad_id)
            WHERE event_type = 'view'
            GROUP BY campaign_id, window_start
        """
